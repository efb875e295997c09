// SPDX-License-Identifier: Apache-2.0
#include "session/session_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "model/plan_cells.h"
#include "model/session_files.h"
#include "session/session_log.h"
#include "shm/session_env.h"

namespace stemtap::session {
namespace {

// A collector renews its overview every second. If the newest file of a session that has not ended
// is older, the collector was killed. Less would remove the files of one that was stopped briefly.
constexpr std::int64_t kMaxSilenceS = 10;

constexpr std::string_view kWindowPrefix = "window-";

bool IsWindowName(std::string_view name) {
  if (!name.starts_with(kWindowPrefix)) return false;
  name.remove_prefix(kWindowPrefix.size());
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// Returns whether a session, and not the user, made the file `name`. Files that are written at the
// end have a temporary name first.
bool IsSessionFile(std::string_view name) {
  const std::string_view whole = name.substr(0, name.find(".tmp."));
  const auto is = [whole](std::string_view other) { return whole == other; };
  return std::ranges::any_of(model::kSessionFiles, is) || is(kOldLogFileName) ||
         is(shm::kGateFileName) || is(kControlFileName) || is(kCheckpointFileName) ||
         is(shm::kRecordingFileName) || is(model::kReportFileName) ||
         shm::IsRingName(std::string(whole).c_str()) || IsWindowName(whole) ||
         is(kJobDirectoryName);
}

}  // namespace

bool WasWrittenRecently(const Directory& directory) {
  std::int64_t newest_s = 0;
  directory.ForEach([&](const std::string& name, ino_t) {
    struct stat about = {};
    if (::fstatat(directory.descriptor(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
      newest_s = std::max<std::int64_t>(newest_s, about.st_mtim.tv_sec);
    }
  });
  return ::time(nullptr) - newest_s <= kMaxSilenceS;
}

namespace {

// Checks that `directory` contains a session that has ended or was killed, and no other files.
Status CheckReplaceable(const Directory& directory, const std::vector<std::string>& names) {
  const std::string shown = EscapeForTerminal(directory.path());
  struct stat about = {};
  if (::fstat(directory.descriptor(), &about) == 0 && about.st_uid != ::geteuid()) {
    return Error{fmt::format("{}: belongs to another user ({}); expected a directory of your own",
                             shown, about.st_uid)};
  }
  const auto has = [&](const char* name) { return std::ranges::count(names, name) != 0; };
  const auto other = std::ranges::find_if_not(names, IsSessionFile);
  if (other != names.end() || !(has(shm::kMaskFileName) || has(shm::kSessionFileName))) {
    return Error{
        fmt::format("{}: contains {}; --force replaces only a directory that contains a "
                    "session and nothing else",
                    shown, other != names.end() ? EscapeForTerminal(*other) : "no session")};
  }
  if (has(shm::kSessionFileName)) return Success{};
  if (!WasWrittenRecently(directory)) return Success{};
  return Error{fmt::format(
      "{}: its session has not ended and was written less than {} s ago; --force replaces only "
      "sessions that have ended or were killed",
      shown, kMaxSilenceS)};
}

// Removes the session in `directory`; nothing if it contains anything else.
Status RemoveSession(const Directory& directory) {
  std::vector<std::string> names;
  directory.ForEach([&](const std::string& name, ino_t) { names.push_back(name); });
  if (names.empty()) return Success{};
  STEMTAP_TRY(CheckReplaceable(directory, names));
  // A file of the user may have this name, so its removal may fail: first.
  if (std::erase(names, kJobDirectoryName) != 0) {
    STEMTAP_TRY(RemoveWindow(directory, kJobDirectoryName));
  }
  // The mask last: what remains after a failure is still a session.
  std::stable_partition(names.begin(), names.end(),
                        [](const auto& name) { return name != shm::kMaskFileName; });
  for (const std::string& name : names) {
    if (IsWindowName(name)) {
      STEMTAP_TRY(RemoveWindow(directory, name));
      continue;
    }
    if (directory.Remove(name)) continue;
    return Error{fmt::format("{}: cannot be removed: {}", EscapeForTerminal(directory.PathOf(name)),
                             std::strerror(errno))};
  }
  return Success{};
}

// Returns the directory, which is new or empty. If it contains a session, the error says how to
// replace that.
Result<Directory> ClaimNamed(const std::string& path) {
  Result<Directory> directory = Directory::Claim(path, shm::kMaskFileName);
  if (directory.ok() || !Exists(std::filesystem::path(path) / shm::kMaskFileName)) return directory;
  return Error{directory.error().message + ", or --force to replace the session"};
}

}  // namespace

Result<Directory> ClaimSession(const std::string& path, SessionPlace place) {
  std::error_code failure;
  const std::string absolute = std::filesystem::absolute(path, failure).string();
  if (failure) {
    return Error{
        fmt::format("{}: the current directory cannot be found: {}; expected one that exists, or "
                    "an absolute path",
                    EscapeForTerminal(path), failure.message())};
  }
  if (absolute.size() > shm::kMaxSessionPathBytes) {
    return Error{fmt::format(
        "{:.60}...: the path of the session directory has {} bytes; expected at most {}",
        EscapeForTerminal(path), absolute.size(), shm::kMaxSessionPathBytes)};
  }
  switch (place) {
    case SessionPlace::kDefault:
      return Directory::ClaimNew(path, shm::kMaskFileName);
    case SessionPlace::kExisting:
      return Directory::ClaimExisting(path, shm::kMaskFileName);
    case SessionPlace::kReplaced:
      return Directory::ClaimReplaced(path, shm::kMaskFileName, RemoveSession);
    case SessionPlace::kClaimed:
      return Directory::Open(path);
    case SessionPlace::kNamed:
      break;
  }
  return ClaimNamed(path);
}

void RemoveUnclaimed(const std::string& path, std::uint64_t pid) {
  const Result<Directory> directory = Directory::Open(path);
  if (!directory.ok()) return;
  bool is_claimed = false;
  std::vector<std::string> rings;
  directory.value().ForEach([&](const std::string& name, ino_t) {
    shm::ProcessImage image;
    is_claimed |= name == shm::kMaskFileName;
    if (shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image) && image.pid == pid) {
      rings.push_back(name);
    }
  });
  if (is_claimed) return;
  for (const std::string& name : rings) directory.value().Remove(name);
  directory.value().RemoveSelf();
}

std::string WindowName(std::uint32_t number) {
  return fmt::format("{}{:04}", kWindowPrefix, number);
}

Status RemoveWindow(const Directory& session, const std::string& name) {
  const Directory window = STEMTAP_TRY(Directory::Open(session.PathOf(name)));
  STEMTAP_TRY(RemoveSession(window));
  window.RemoveSelf();
  return Success{};
}

Status WriteResults(const Directory& directory, const model::Plan& plan,
                    const std::string& session_json, const std::string& summary) {
  Status status = directory.Replace("plan.json", model::PlanToJson(plan));
  if (!status.ok()) return status;
  status = directory.Replace(shm::kSessionFileName, session_json);
  if (!status.ok()) return status;
  // The largest file is written late, because the disk may be full. The summary does not need it.
  const Status cells = directory.Replace(model::kCellsFileName, model::CellsToJson(plan));
  status = directory.Replace("summary.txt", summary);
  return cells.ok() ? status : cells;
}

}  // namespace stemtap::session
