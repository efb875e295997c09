// SPDX-License-Identifier: Apache-2.0
#include "ui/top/session_finder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "model/overview_reader.h"
#include "shm/session_env.h"
#include "ui/top/session_watch.h"

namespace stemtap::ui {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOverviewName = "overview.json";
// Sessions are in the directory that a program was started in, or a few levels below it. A deeper
// or larger tree is probably a home directory and would take seconds to search.
constexpr int kMaxDepth = 3;
constexpr std::size_t kMaxDirectories = 20000;
constexpr std::uint64_t kMaxPid = std::uint64_t{1} << 22;  // Linux PID_MAX_LIMIT

struct Candidate {
  std::string directory;
  std::int64_t changed_ns = 0;
};

// Returns the modification time of a file in ns; nullopt if it does not exist.
std::optional<std::int64_t> ChangedAt(const std::string& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return std::int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

// Returns whether all files of the session are written.
bool HasEnded(const std::string& directory) {
  return Exists(directory + "/" + shm::kSessionFileName) && Exists(directory + "/plan.json");
}

// Returns whether the session is running: its collector renews it or, before the first overview, a
// traced process is alive. Returns false if the session was killed.
bool Runs(const std::string& directory) {
  SessionWatch watch(directory);
  watch.Refresh();
  if (watch.state() == SessionState::kRunning) return true;
  if (watch.state() != SessionState::kWaiting) return false;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    shm::ProcessImage image;
    if (!shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image)) continue;
    if (!ProcessIsGone(static_cast<std::int32_t>(std::min(image.pid, kMaxPid)), 0)) return true;
  }
  return false;
}

// Search collects the directories that contain a session.
class Search {
 public:
  // Considers only directories owned by `owner`, or all directories if it is not set.
  explicit Search(std::optional<uid_t> owner = {}) : owner_(owner) {}

  // Searches a directory and the directories below it, `depth` levels deep.
  void Below(const fs::path& directory, int depth) {
    std::error_code error;
    std::vector<fs::path> inner;
    Candidate candidate{directory.string(), -1};
    for (fs::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      const std::string name = at->path().filename().string();
      std::error_code ignored;
      if (at->is_symlink(ignored)) continue;
      if (at->is_directory(ignored)) {
        if (depth > 0 && !name.starts_with('.')) inner.push_back(at->path());
      } else if (name == kOverviewName || shm::IsRingName(name.c_str())) {
        candidate.changed_ns =
            std::max(candidate.changed_ns, ChangedAt(at->path().string()).value_or(-1));
      }
    }
    if (candidate.changed_ns >= 0 && IsOwned(directory)) found_.push_back(std::move(candidate));
    for (const fs::path& next : inner) {
      if (++directories_ > kMaxDirectories) return;
      Below(next, depth - 1);
    }
  }

  // Searches one directory for default-named sessions of `user`.
  void Named(const fs::path& directory, uid_t user) {
    std::error_code error;
    for (fs::directory_iterator at(directory, error), end; !error && at != end;
         at.increment(error)) {
      if (!at->path().filename().string().starts_with("stemtap-")) continue;
      struct stat about = {};
      if (::lstat(at->path().c_str(), &about) != 0 || !S_ISDIR(about.st_mode)) continue;
      if (about.st_uid == user) Below(at->path(), 0);
    }
  }

  const std::vector<Candidate>& found() const { return found_; }

 private:
  bool IsOwned(const fs::path& directory) const {
    struct stat about = {};
    return !owner_ || (::lstat(directory.c_str(), &about) == 0 && about.st_uid == *owner_);
  }

  std::optional<uid_t> owner_;
  std::vector<Candidate> found_;
  std::size_t directories_ = 0;
};

// Returns the session directory that the process in /proc/<pid> belongs to, as that process names
// it. The traced process and the collector map the gate table and the rings, and the collector also
// writes the mask. Empty if there is none or it belongs to another user.
std::string DirectoryOpenIn(const fs::path& process) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    const std::size_t slash = line.rfind('/');
    if (path == std::string::npos || slash == path) continue;
    const std::string name = line.substr(slash + 1);
    if (shm::IsRingName(name.c_str()) || name == shm::kGateFileName)
      return line.substr(path, slash - path);
  }
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    const fs::path target = fs::read_symlink(at->path(), ignored);
    if (!ignored && target.filename() == shm::kMaskFileName) return target.parent_path().string();
  }
  return {};
}

// Returns the same directory as seen from here: in a container, the same path may be a different
// directory.
std::string SessionOf(const fs::path& process) {
  const std::string directory = DirectoryOpenIn(process);
  if (directory.empty()) return directory;
  std::error_code ignored;
  const fs::path there = process / "root" / fs::path(directory).relative_path();
  const bool other = Exists(there) && !fs::equivalent(there, directory, ignored);
  return other ? there.string() : directory;
}

bool IsNumber(std::string_view word) {
  return !word.empty() && word.size() <= 10 &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

const Candidate* NewestOf(const std::vector<Candidate>& candidates) {
  const auto newest = std::max_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.changed_ns < b.changed_ns; });
  return newest == candidates.end() ? nullptr : &*newest;
}

// Returns whether the session's own files list `pid` as one of its processes.
bool Names(const std::string& directory, const std::string& pid) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    shm::ProcessImage image;
    const std::string name = at->path().filename().string();
    if (shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image) &&
        std::to_string(image.pid) == pid) {
      return true;
    }
  }
  model::OverviewReader reader(false);
  model::Overview overview;
  if (!reader.Read(directory + "/" + kOverviewName, overview).ok()) return false;
  if (overview.mode == "merged") return false;  // its processes ran on several machines
  if (std::to_string(overview.pid) == pid) return true;
  return std::any_of(overview.processes.begin(), overview.processes.end(),
                     [&](const model::OverviewProcess& p) { return std::to_string(p.pid) == pid; });
}

Result<std::string> SessionOfPid(const std::string& pid, const FinderPlaces& places) {
  const std::string directory = SessionOf(fs::path(places.proc) / pid);
  if (!directory.empty()) return directory;
  Search search;
  search.Below(places.here, kMaxDepth);
  search.Named(places.other, places.user);
  std::vector<Candidate> named;
  for (const Candidate& candidate : search.found()) {
    if (Names(candidate.directory, pid)) named.push_back(candidate);
  }
  if (const Candidate* newest = NewestOf(named)) return newest->directory;
  return Error{
      fmt::format("{}: no such directory, and no session of process {} was found; expected a "
                  "session directory or the pid of a traced process",
                  pid, pid)};
}

}  // namespace

Result<std::string> FindSession(const std::string& word, const FinderPlaces& places) {
  std::error_code error;
  fs::path path = word;
  if (path.is_relative()) path = fs::path(places.here) / path;
  const auto denied = [&] {
    return Error{fmt::format("{}: {}; expected a session directory", EscapeForTerminal(word),
                             error.message())};
  };
  if (fs::is_directory(path, error)) {
    const fs::directory_iterator readable(path, error);
    if (error) return denied();
    Search search;
    search.Below(path, 0);
    // The collector may not have written any other file yet.
    if (search.found().empty() && !Exists(path / shm::kMaskFileName)) {
      return Error{fmt::format("{}: contains no {}; expected a session directory",
                               EscapeForTerminal(word), kOverviewName)};
    }
    const std::string directory = path.lexically_normal().string();
    return directory.size() > 1 && directory.back() == '/'
               ? directory.substr(0, directory.size() - 1)
               : directory;
  }
  if (path.filename() == kOverviewName && fs::exists(path, error)) {
    return path.parent_path().lexically_normal().string();
  }
  if (error && error != std::errc::no_such_file_or_directory) return denied();
  if (IsNumber(word)) return SessionOfPid(word, places);
  return Error{fmt::format("{}: no such directory; expected a session directory or a pid",
                           EscapeForTerminal(word))};
}

Result<std::string> NewestSession(Newest wanted, const FinderPlaces& places) {
  Search search(places.user);
  search.Below(places.here, kMaxDepth);
  std::vector<Candidate> ended;
  std::vector<Candidate> running;
  for (const Candidate& candidate : search.found()) {
    if (HasEnded(candidate.directory)) {
      ended.push_back(candidate);
    } else if (Runs(candidate.directory)) {
      running.push_back(candidate);
    }
  }
  const bool any_state = wanted == Newest::kRunningFirst;
  const Candidate* newest = any_state ? NewestOf(running) : NewestOf(ended);
  if (newest == nullptr && any_state) newest = NewestOf(search.found());
  if (newest != nullptr) return fs::path(newest->directory).lexically_normal().string();
  if (search.found().empty()) {
    return Error{
        "no session below the current directory; name a session directory, or a process's pid for "
        "'stemtap top'"};
  }
  return Error{
      fmt::format("no session below the current directory has ended, {} of {} still run; name a "
                  "session directory",
                  running.size(), search.found().size())};
}

}  // namespace stemtap::ui
