// SPDX-License-Identifier: Apache-2.0
#include "fleet/private_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"
#include "base/unix_ms.h"

namespace stemtap::fleet {
namespace {

using Clock = std::chrono::steady_clock;

// A server that is not ready after this time is given up. It takes 10 ms on an idle machine.
constexpr std::chrono::seconds kMaxStart{5};
constexpr std::chrono::milliseconds kStartPoll{5};

// Between the choice of a port and the start of the server, another program may take the port.
constexpr int kMaxPorts = 5;

constexpr std::size_t kPasswordBytes = 32;

// Hosts have more addresses than this only if they serve containers.
constexpr std::size_t kMaxAddresses = 8;

// All of the URLs in a file are tried for so long.
constexpr std::chrono::seconds kMaxTry{4};

constexpr std::string_view kLoopback = "127.0.0.1";

Result<std::string> RandomPassword() {
  std::array<unsigned char, kPasswordBytes> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Error{fmt::format("no password can be made: {}", std::strerror(errno))};
  }
  std::string password;
  for (const unsigned char byte : bytes) password += fmt::format("{:02x}", byte);
  return password;
}

// Returns a port that is free on this host at the moment, or 0.
int FreePort() {
  const FileDescriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(probe.get(), generic, size) != 0 || ::getsockname(probe.get(), generic, &size) != 0) {
    return 0;
  }
  return ntohs(address.sin_port);
}

// Returns the addresses of this host that other hosts may reach: IPv4, then IPv6.
std::vector<std::string> Addresses() {
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return v4;
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (at->ifa_flags & IFF_UP) == 0) continue;
    if ((at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET6_ADDRSTRLEN] = {};
    if (at->ifa_addr->sa_family == AF_INET) {
      ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr, text,
                  sizeof text);
      v4.emplace_back(text);
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&address)) continue;
      ::inet_ntop(AF_INET6, &address, text, sizeof text);
      v6.push_back(fmt::format("[{}]", text));
    }
  }
  ::freeifaddrs(first);
  v4.insert(v4.end(), v6.begin(), v6.end());
  if (v4.size() > kMaxAddresses) v4.resize(kMaxAddresses);
  return v4;
}

std::string Url(std::string_view host, const RedisUrl& server) {
  return fmt::format("redis://:{}@{}:{}", server.password, host, server.port);
}

// The server keeps nothing on disk: it runs in a directory that is removed when it has started.
std::string Configuration(const RedisUrl& server, bool other_hosts, const std::string& directory) {
  return fmt::format(
      "{}port {}\nrequirepass {}\nsave \"\"\nappendonly no\ndaemonize no\nloglevel warning\n"
      "databases 1\ndir {}\n",
      other_hosts ? "" : fmt::format("bind {}\n", kLoopback), server.port, server.password,
      directory);
}

// Starts `program` with `config` as its standard input and `log` as its output. Returns its id, or
// -1 and sets errno.
pid_t Spawn(const std::string& program, int config, int log) {
  std::string name = program;
  std::string from_stdin = "-";
  char* const arguments[] = {name.data(), from_stdin.data(), nullptr};
  // A server exits if a locale that the user has set is not installed.
  std::string locale = "LC_ALL=C";
  std::vector<char*> environment = {locale.data()};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LC_ALL=", 7) != 0) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  // The child has the memory of one thread, so it only makes system calls.
  ::setsid();  // Ctrl-C in the terminal is not for the server
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it died before the line above
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(config, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execve(program.c_str(), arguments, environment.data());
  ::_exit(127);
}

// Returns the end of what the server has printed.
std::string EndOf(int file) {
  std::string text(4096, 0);
  const off_t end = ::lseek(file, 0, SEEK_END);
  const off_t begin = std::max<off_t>(end - static_cast<off_t>(text.size()), 0);
  const ssize_t bytes = ::pread(file, text.data(), text.size(), begin);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void End(pid_t pid) {
  ::kill(pid, SIGKILL);  // it has nothing to save
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Waits until the server answers. Returns why it does not; the server has then ended.
Status AwaitAnswer(pid_t pid, const RedisUrl& url, int log) {
  const Clock::time_point limit = Clock::now() + kMaxStart;
  Redis redis(url);
  for (;;) {
    const pid_t ended = ::waitpid(pid, nullptr, WNOHANG);
    if (ended != 0) {
      const std::string printed = EndOf(log);
      return Error{"ended at once: " + ShortText(printed.substr(printed.rfind('\n') + 1), 200)};
    }
    if (redis.Call({"PING"}).ok()) return Success{};
    if (Clock::now() > limit) {
      End(pid);
      return Error{fmt::format("does not answer within {} s", kMaxStart.count())};
    }
    std::this_thread::sleep_for(kStartPoll);
  }
}

Result<RedisUrl> TryFile(const std::string& directory, const std::string& name,
                         const std::string& job) {
  const std::optional<JobFile> file = STEMTAP_TRY(LoadJobFile(directory, name, job));
  if (!file) {
    return Error{fmt::format("no run with rank 0 has started the server of job '{}' ({}/{})",
                             EscapeForTerminal(job), EscapeForTerminal(directory), name)};
  }
  const Clock::time_point limit = Clock::now() + kMaxTry;
  std::string why;
  for (const std::string& text : file->urls) {
    Result<RedisUrl> url = ParseRedisUrl(text);
    if (url.ok()) {
      const Result<Reply> reply = Redis(url.value()).Call({"PING"});
      if (reply.ok()) return url;
      url = reply.error();
    }
    why = url.error().message;
    if (Clock::now() > limit) break;
  }
  return Error{fmt::format("the server that process {} on {} started for job '{}' is away: {}",
                           file->pid, EscapeForTerminal(file->host), EscapeForTerminal(job), why)};
}

}  // namespace

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

Result<RedisUrl> FindServer(const std::string& directory, const std::string& job) {
  const std::string local = JobFileName(job, HostName());
  Result<RedisUrl> found = TryFile(directory, local, job);
  if (found.ok()) return found;
  Result<RedisUrl> shared = TryFile(directory, JobFileName(job, {}), job);
  // The reason of the file that exists.
  std::error_code ignored;
  const bool is_local = std::filesystem::exists(directory + "/" + local, ignored);
  return shared.ok() || !is_local ? shared : found;
}

Result<RedisUrl> AwaitServer(const std::string& directory, const std::string& job) {
  const Clock::time_point limit = Clock::now() + kMaxFind;
  Result<RedisUrl> found = FindServer(directory, job);
  while (!found.ok() && Clock::now() < limit) {
    std::this_thread::sleep_for(kFindPeriod);
    found = FindServer(directory, job);
  }
  return found;
}

Result<std::unique_ptr<PrivateServer>> PrivateServer::StartAt(const std::string& program, int port,
                                                              const std::string& directory,
                                                              bool other_hosts, bool& is_taken) {
  if (port == 0) return Error{fmt::format("{}: no port is free", program)};
  RedisUrl url;
  url.host = kLoopback;
  url.port = port;
  url.password = STEMTAP_TRY(RandomPassword());
  std::error_code failure;
  std::string scratch =
      (std::filesystem::temp_directory_path(failure) / "stemtap-server-XXXXXX").string();
  if (failure || ::mkdtemp(scratch.data()) == nullptr) {
    return Error{fmt::format("{}: cannot be created: {}", scratch, std::strerror(errno))};
  }
  // Small enough for the buffer of a pipe.
  const std::string configuration = Configuration(url, other_hosts, scratch);
  int ends[2] = {-1, -1};
  std::FILE* log = std::tmpfile();
  pid_t pid = -1;
  if (log != nullptr && ::pipe2(ends, O_CLOEXEC) == 0) {
    const FileDescriptor from(ends[0]);
    FileDescriptor to(ends[1]);
    const bool is_written = ::write(to.get(), configuration.data(), configuration.size()) ==
                            static_cast<ssize_t>(configuration.size());
    to.Close();
    if (is_written) pid = Spawn(program, from.get(), ::fileno(log));
  }
  Status started = Error{fmt::format("cannot be started: {}", std::strerror(errno))};
  if (pid > 0) started = AwaitAnswer(pid, url, ::fileno(log));
  ::rmdir(scratch.c_str());
  is_taken =
      !started.ok() && log != nullptr && EndOf(::fileno(log)).find("in use") != std::string::npos;
  if (log != nullptr) std::fclose(log);
  if (!started.ok()) return Error{fmt::format("{}: {}", program, started.error().message)};
  return std::unique_ptr<PrivateServer>(new PrivateServer(directory, pid, std::move(url)));
}

Result<std::unique_ptr<PrivateServer>> PrivateServer::Start(const std::string& directory,
                                                            const std::string& job,
                                                            bool other_hosts) {
  std::string program = FindProgram("redis-server").string();
  if (program.empty()) program = FindProgram("valkey-server").string();
  if (program.empty()) {
    return Error{
        "--fleet auto: no redis-server or valkey-server is in PATH; install the package "
        "redis-server or valkey-server, or name a server with --fleet URL"};
  }
  Result<std::unique_ptr<PrivateServer>> started = std::unique_ptr<PrivateServer>();
  bool is_taken = true;
  for (int i = 0; is_taken && i < kMaxPorts; ++i) {
    is_taken = false;
    started = StartAt(program, FreePort(), directory, other_hosts, is_taken);
  }
  if (!started.ok()) return started;
  PrivateServer& server = *started.value();
  JobFile& file = server.file_;
  file.job = job;
  file.host = HostName();
  file.pid = ::getpid();
  file.started_ms = UnixMs();
  if (other_hosts) {
    for (const std::string& address : Addresses()) file.urls.push_back(Url(address, server.url_));
    // The last, because looking up a name may take long.
    file.urls.push_back(Url(file.host, server.url_));
  } else {
    file.urls.push_back(Url(kLoopback, server.url_));
  }
  const std::string name = JobFileName(job, other_hosts ? std::string() : file.host);
  if (!STEMTAP_TRY(StoreJobFile(directory, name, file, false))) {
    if (TryFile(directory, name, job).ok()) return std::unique_ptr<PrivateServer>();
    STEMTAP_TRY(StoreJobFile(directory, name, file, true));
  }
  server.name_ = name;
  return started;
}

PrivateServer::~PrivateServer() {
  if (!name_.empty()) RemoveJobFile(directory_, name_, file_);
  End(pid_);
}

}  // namespace stemtap::fleet
