// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/byte_sink.h"
#include "base/byte_source.h"
#include "base/directory.h"
#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"

namespace stemtap::fleet {
namespace {

// The version of the format is the value of the first line.
constexpr std::string_view kFormat = "stemtap.job";
constexpr std::string_view kVersion = "1";

// A host has a few addresses, so a file has some hundred bytes. More is not a file of ours.
constexpr std::size_t kMaxBytes = 65536;

// Of the name of the job, so much is in the name of its file; a hash of all distinguishes them.
constexpr std::size_t kMaxShownName = 64;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

template <typename Number>
bool ParseWhole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// FNV-1a. It only tells names apart; the file contains the whole name.
std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

Error Refused(const std::string& path, const std::string& why) {
  return {fmt::format("{}: {}; expected a file that only you can read and write (mode 600)",
                      EscapeForTerminal(path), why)};
}

Error SystemError(const std::string& path, const char* what) {
  return {fmt::format("{}: {}: {}", EscapeForTerminal(path), what, std::strerror(errno))};
}

// Makes a directory and the ones that it is in, which only this user may enter.
Status MakeDirectories(const std::filesystem::path& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return Success{};
  STEMTAP_TRY(MakeDirectories(path.parent_path()));
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return Success{};
  return SystemError(path.string(), "cannot be created");
}

// Opens the directory, which may be a link. On NFS, this is what makes the files visible that
// another host has made a moment ago: a client remembers which files do not exist, and forgets it
// when it opens a directory that has changed.
FileDescriptor OpenDirectory(const std::string& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

std::string JobFileText(const JobFile& file) {
  std::string text = fmt::format("{} {}\njob {}\nhost {}\npid {}\nstarted_ms {}\n", kFormat,
                                 kVersion, file.job, file.host, file.pid, file.started_ms);
  for (const std::string& url : file.urls) text += fmt::format("url {}\n", url);
  return text;
}

std::optional<JobFile> ParseJobFile(std::string_view text) {
  JobFile file;
  bool is_ours = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};  // a part of a file
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return {};
    const std::string_view name = line.substr(0, space);
    const std::string_view value = line.substr(space + 1);
    if (!is_ours && (name != kFormat || value != kVersion)) return {};
    is_ours = true;
    if (name == "job") file.job = value;
    if (name == "host") file.host = value;
    if (name == "pid" && !ParseWhole(value, file.pid)) return {};
    if (name == "started_ms" && !ParseWhole(value, file.started_ms)) return {};
    if (name == "url") file.urls.emplace_back(value);
  }
  if (file.job.empty() || file.urls.empty()) return {};
  return file;
}

Result<std::string> JobDirectory() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string own = variable("STEMTAP_FLEET_DIR"); !own.empty()) return own;
  const std::string cache = variable("XDG_CACHE_HOME");
  if (cache.starts_with('/')) return cache + "/stemtap/jobs";  // others are to be ignored
  const std::string home = variable("HOME");
  if (home.starts_with('/')) return home + "/.cache/stemtap/jobs";
  return Error{
      "--fleet auto: there is no home directory; expected STEMTAP_FLEET_DIR to name a directory "
      "that all hosts of the job share"};
}

std::string JobFileName(const std::string& job, const std::string& host) {
  std::string name;
  for (const char c : job.substr(0, kMaxShownName)) name += IsPlain(c) ? c : '_';
  if (name.starts_with('.')) name.front() = '_';
  return fmt::format("{}-{:016x}", name, HashOf(fmt::format("{}\n{}\n{}", job, host, ::geteuid())));
}

Result<std::optional<JobFile>> LoadJobFile(const std::string& directory, const std::string& name,
                                           const std::string& job) {
  const std::string path = directory + "/" + name;
  const FileDescriptor parent = OpenDirectory(directory);
  if (!parent.is_open()) {
    if (errno == ENOENT) return std::optional<JobFile>();
    return SystemError(directory, "cannot be opened");
  }
  // Without O_NONBLOCK, opening a FIFO would wait.
  FileDescriptor file(
      ::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<JobFile>();
    if (errno == ELOOP) return Refused(path, "is a link");
    if (errno == EACCES) return Refused(path, "cannot be read");
    return SystemError(path, "cannot be opened");
  }
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0) return SystemError(path, "cannot be examined");
  if (!S_ISREG(about.st_mode)) return Refused(path, "is not a file");
  if (about.st_uid != ::geteuid()) {
    return Refused(path, fmt::format("belongs to another user ({})", about.st_uid));
  }
  if ((about.st_mode & kOthers) != 0) {
    return Refused(path, fmt::format("is open to other users (mode {:03o})", about.st_mode & 0777));
  }
  std::string text(kMaxBytes, 0);
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes < 0) return SystemError(path, "cannot be read");
  text.resize(static_cast<std::size_t>(bytes));
  std::optional<JobFile> parsed = ParseJobFile(text);
  if (!parsed || parsed->job != job) {
    return Error{fmt::format("{}: does not describe the server of job '{}'; remove it",
                             EscapeForTerminal(path), EscapeForTerminal(job))};
  }
  return parsed;
}

Result<bool> StoreJobFile(const std::string& directory, const std::string& name,
                          const JobFile& file, bool replace) {
  STEMTAP_TRY(MakeDirectories(directory));
  const std::string path = directory + "/" + name;
  const FileDescriptor parent = OpenDirectory(directory);
  if (!parent.is_open()) return SystemError(directory, "cannot be opened");
  const std::string temporary = fmt::format("{}.tmp.{}.{}", name, file.host, file.pid);
  const std::string text = JobFileText(file);
  ::unlinkat(parent.get(), temporary.c_str(), 0);  // of a process that was killed
  FileDescriptor to(::openat(parent.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnFileMode));
  if (!to.is_open()) return SystemError(path, "cannot be written");
  static_cast<void>(::fchmod(to.get(), kOwnFileMode));  // the umask may have removed permissions
  bool is_done = ::write(to.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  is_done = to.Close() && is_done;
  bool is_taken = false;
  if (is_done) {
    const auto move = [&](auto call, auto... flags) {
      return call(parent.get(), temporary.c_str(), parent.get(), name.c_str(), flags...) == 0;
    };
    // Unlike a rename, a link never replaces a file. Some file systems have no links.
    is_done = !replace && move(::linkat, 0);
    is_taken = !is_done && !replace && errno == EEXIST;
    if (!is_done && !is_taken) is_done = move(::renameat);
  }
  const int failure = errno;
  ::unlinkat(parent.get(), temporary.c_str(), 0);
  errno = failure;
  if (is_done || is_taken) return is_done;
  return SystemError(path, "cannot be written");
}

void RemoveJobFile(const std::string& directory, const std::string& name, const JobFile& file) {
  const Result<std::optional<JobFile>> now = LoadJobFile(directory, name, file.job);
  if (now.ok() && now.value() == file) ::unlink((directory + "/" + name).c_str());
}

}  // namespace stemtap::fleet
