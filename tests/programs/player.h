// SPDX-License-Identifier: Apache-2.0
//
// Player replays the launches of a recorded profile on the simulated GPU. Each kernel has the same
// name, device, stream, launch configuration and duration, and is launched in the same ranges and
// steps of the program. Launch order is preserved within a
// stream. With several threads, each stream belongs to one thread.
//
// THREADS: one caller. The player starts its own threads.
#pragma once

#include <cuda.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "model/profile.h"

namespace stemtap {

struct PlayOptions {
  std::string profile;
  bool real_time = false;  // launch at the recorded times, relative to the first launch
  unsigned threads = 1;    // launching threads
  std::uint64_t repeat = 1;
  double rate = 0;  // maximum launches per second of wall time; 0: no limit
};

class Player {
 public:
  explicit Player(const PlayOptions& options);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // Plays the profile once.
  Status Play(model::ProfileReader& reader);

  // Waits for all kernels and destroys the streams and the module.
  Status Finish();

  std::uint64_t launches() const { return launches_; }

 private:
  struct Stream {
    CUstream handle;
    unsigned thread;
  };

  Status Prepare(const model::ProfileReader& reader);
  Status AddStream(std::pair<int, std::uint32_t> key);
  void LaunchBatch();
  void LaunchShare(unsigned thread);
  void LaunchOne(const shm::KernelRecord& record, CUstream stream);
  void WaitForTurn(const shm::KernelRecord& record, std::uint64_t index);
  void RunThread(unsigned thread);

  const PlayOptions options_;
  int devices_ = 1;
  std::vector<CUcontext> contexts_;  // by device, retained once used
  CUmodule module_ = nullptr;
  std::map<std::pair<int, std::uint32_t>, Stream> streams_;
  std::vector<CUfunction> functions_;  // by name id of the reader
  std::vector<std::string> ranges_;    // likewise
  std::uint64_t steps_ = 0;            // begun; a profile with steps is played on one thread

  model::ProfileBatch batch_;
  std::vector<const Stream*> batch_streams_;  // by row of batch_
  std::uint64_t launches_ = 0;                // before batch_

  // Pacing
  std::uint64_t first_start_ns_ = shm::kUnknownTime;  // of the profile
  std::uint64_t begin_ns_ = 0;                        // start of playback, steady clock

  // Threads 1 and up; thread 0 is the caller. All threads wait for each other before and after each
  // batch.
  std::unique_ptr<std::barrier<>> barrier_;
  std::vector<std::thread> threads_;
  bool stop_ = false;
  std::atomic<CUresult> failure_{CUDA_SUCCESS};
};

}  // namespace stemtap
