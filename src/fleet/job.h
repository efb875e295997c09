// SPDX-License-Identifier: Apache-2.0
//
// Job is the state that the collectors of a job share on a Redis server: what each of them knows,
// and what the leader decided. All keys are `stemtap:{JOB}:...`, so that they are on one node of a
// cluster, and expire. docs/design/fleet.md lists them.
//
// An update replaces what the server knows of the kernels in it, so it may be sent again: nothing
// is counted twice. The server applies only updates with a greater number than before, and only if
// it still has the ones before.
//
// THREADS: one caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/packing.h"
#include "fleet/redis.h"

namespace stemtap::fleet {

// RunInfo is what a job knows of one of its runs.
struct RunInfo {
  std::string id;  // unique in the job
  std::uint64_t rank = 0;
  std::string host;
  std::uint64_t launches = 0;
  std::uint64_t duration_ns = 0;
  bool has_ended = false;
};

struct Update {
  std::uint64_t number = 0;     // from 1, ascending
  std::uint64_t confirmed = 0;  // of the last update that is known to have been applied
  RunInfo run;
  std::vector<std::pair<std::uint64_t, std::string>> new_kernels;  // PackId by key
  std::vector<std::pair<std::uint64_t, std::string>> sketches;     // PackSketch by key
  std::vector<std::pair<std::uint64_t, std::string>> traits;       // PackTraits by key
  // PackCapture by "KEY:INDEX", KEY in hexadecimal.
  std::vector<std::pair<std::string, std::string>> captures;
};

struct Answer {
  // The server has lost updates that it had confirmed, and has not applied this one.
  bool has_lost = false;
  bool leads = false;         // this run is the leader until its lease ends
  std::uint64_t version = 0;  // of the decisions
  std::uint64_t slowest = 0;  // launches of the run with the fewest, of those that go on
  std::uint64_t runs = 0;     // that have entered the job
  // The directions of this run, if they are newer than those that it knows.
  std::optional<std::vector<DirectedKernel>> directions;
};

// What the leader reads of a run.
struct RunState {
  RunInfo run;
  std::map<std::uint64_t, stats::LogSketch> sketches;
  std::map<std::uint64_t, Traits> traits;
  std::vector<std::pair<std::uint64_t, online::Capture>> captures;  // by kernel
  std::vector<DirectedKernel> directions;
};

// Fields of a run that have changed on the server.
struct Changed {
  std::set<std::string> kernels;
  std::set<std::string> captures;
};

class Job {
 public:
  // A leader that is silent for this long loses its lease.
  static constexpr std::chrono::milliseconds kLease{5000};
  // A run that is silent for this long is not waited for.
  static constexpr std::chrono::milliseconds kWaitedFor{5000};
  // A run that is silent for this long is taken for dead: it captures nothing more.
  static constexpr std::chrono::milliseconds kSilence{30'000};
  // A job without updates for this long is forgotten.
  static constexpr std::chrono::seconds kExpiry{std::chrono::hours(24)};

  Job(RedisUrl url, const std::string& name);

  // From now on, all calls together take at most `limit`: then they fail.
  void AllowFor(std::chrono::milliseconds limit) { redis_.AllowFor(limit); }

  // Sends an update. `version`: of the directions that the run knows.
  Result<Answer> Send(const Update& update, std::uint64_t version);

  // Reads what has changed in the runs since the last call: the sketches and prices of the kernels
  // that have changed, and new captures. At first, reads all runs whole.
  Result<std::vector<RunState>> ReadChanges();

  // Returns the runs that have been silent for kSilence.
  Result<std::vector<std::string>> ReadSilent();

  // Makes the next ReadChanges read all runs.
  void ReadFromStart() { last_entry_.clear(); }

  // Publishes decisions. Returns false if the run is not the leader any more.
  Result<bool> Publish(const std::string& leader, const std::vector<DirectedKernel>& clusters,
                       const std::map<std::string, std::vector<DirectedKernel>>& by_run);

  // Gives the lease back.
  Status Resign(const std::string& leader);

  // Adds runs that the server has lost, without their kernels: whoever merges the job learns which
  // are missing.
  Status Announce(const std::map<std::string, RunInfo>& runs);

  // Stores the files of the run's session by their names, which whoever merges the job writes.
  // Returns false if the server has lost the update with the number `confirmed`.
  Result<bool> StoreFiles(const std::string& run, std::uint64_t confirmed,
                          const std::map<std::string, std::string>& files);
  Result<std::map<std::string, std::string>> ReadFiles(const std::string& run);

  // Reads what a merged session needs.
  Result<std::map<std::uint64_t, model::KernelId>> ReadKernels();
  Result<std::vector<DirectedKernel>> ReadClusters();

 private:
  std::string Key(const std::string& part) const { return prefix_ + part; }
  Result<Reply> Run(const char* script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& arguments);
  // Reads the runs: all that they have reported if `whole`, or what has changed.
  Result<std::vector<RunState>> ReadRuns(const std::map<std::string, Changed>& runs, bool whole);
  Result<std::vector<RunState>> ReadAll();

  Redis redis_;
  std::string prefix_;
  std::uint64_t read_up_to_ = 0;  // number of the last change that was read
  std::string last_entry_;        // its id in the stream; empty: none was read
};

}  // namespace stemtap::fleet
