// SPDX-License-Identifier: Apache-2.0
//
// PrivateServer is a Redis or Valkey server that the first run of a job starts for the others
// (--fleet auto), so that no administrator has to. It has a random password, keeps nothing on disk,
// and ends with this process, also if that is killed. The others find it by its file (JobFile).
//
//   first run   Start ─► server, file     ... Stop
//   others      FindServer ─► URL
//
// THREADS: Start, Stop and the destructor are called by one thread, which lives as long as the
// server: the system ends the server when that thread ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "fleet/job_file.h"
#include "fleet/redis.h"

namespace stemtap::fleet {

// Returns the name of this host.
std::string HostName();

// Returns the URL of the server of the job, which another run has started and which this host can
// reach. `directory`: JobDirectory(). Takes some seconds if hosts that the file names are silent.
Result<RedisUrl> FindServer(const std::string& directory, const std::string& job);

// Calls FindServer until it succeeds, or for kMaxFind.
Result<RedisUrl> AwaitServer(const std::string& directory, const std::string& job);

// How long a run waits for the server of its job. The runs of a job start at about the same time,
// and the server takes a tenth of a second to start. Less would leave out runs of a slow host; a
// replay is held up, and a live run captures nothing, for so long if there is no server.
inline constexpr std::chrono::seconds kMaxFind{10};
// How often it looks. Each time costs the file server some requests.
inline constexpr std::chrono::milliseconds kFindPeriod{200};

class PrivateServer {
 public:
  // `other_hosts`: the server listens on all addresses, and the file is for all hosts; otherwise,
  // both are for this host. Takes over the file of a server that cannot be reached. Returns null if
  // another run of the job has started a server at the same time.
  static Result<std::unique_ptr<PrivateServer>> Start(const std::string& directory,
                                                      const std::string& job, bool other_hosts);
  ~PrivateServer();
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  // Returns the URL for this host.
  const RedisUrl& url() const { return url_; }
  std::string path_of_file() const { return directory_ + "/" + name_; }
  std::chrono::steady_clock::time_point started_at() const { return started_at_; }

 private:
  PrivateServer(std::string directory, pid_t pid, RedisUrl url)
      : directory_(std::move(directory)), pid_(pid), url_(std::move(url)) {}

  static Result<std::unique_ptr<PrivateServer>> StartAt(const std::string& program, int port,
                                                        const std::string& directory,
                                                        bool other_hosts, bool& is_taken);

  std::string directory_;
  pid_t pid_;
  RedisUrl url_;
  std::chrono::steady_clock::time_point started_at_ = std::chrono::steady_clock::now();
  std::string name_;  // of the file; empty: there is none
  JobFile file_;
};

}  // namespace stemtap::fleet
