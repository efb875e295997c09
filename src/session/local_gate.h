// SPDX-License-Identifier: Apache-2.0
//
// LocalGate makes gate decisions in the process of the engine, for launches of a replay or a tracer
// (shm/gate_client.h). Kernels are name ids of the engine.
//
// THREADS: one caller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shm/gate_client.h"
#include "shm/gate_table.h"
#include "shm/launch_draw.h"

namespace stemtap::session {

// Exploration stores when a kernel may have an exploratory capture. If the capture is not made, it
// is retried after a pause, which doubles each time.
class Exploration {
 public:
  // A refused call during a pause shortens the pause by one launch.
  bool MayExplore(std::uint32_t name_id) {
    Kernel& kernel = Of(name_id);
    if (kernel.pause == 0) return true;
    if (kernel.pause != kExplored) --kernel.pause;
    return false;
  }
  bool Captured(std::uint32_t name_id, shm::GateAnswer) {
    Of(name_id).pause = kExplored;
    return true;
  }
  void Return(std::uint32_t name_id) {
    Kernel& kernel = Of(name_id);
    kernel.last_pause = std::min(2 * kernel.last_pause + 1, kExplored / 4);
    kernel.pause = kernel.last_pause;
  }

 private:
  static constexpr std::uint32_t kExplored = ~std::uint32_t{0};
  struct Kernel {
    std::uint32_t pause = 0;  // launches until the next exploratory capture; kExplored: none
    std::uint32_t last_pause = 0;
  };
  Kernel& Of(std::uint32_t name_id) {
    if (name_id >= kernels_.size()) kernels_.resize(std::size_t{name_id} + 1);
    return kernels_[name_id];
  }

  std::vector<Kernel> kernels_;  // by name id
};

class LocalGate {
 public:
  // `table` must outlive the gate. `seed`: of the launch draws.
  LocalGate(shm::GateTable& table, std::uint64_t seed) : table_(table), draws_(seed) {}

  // Decides launch number `launch` and sets the flags and the credit slot of its record.
  void Decide(const shm::LaunchKeys& keys, std::uint32_t name_id, std::uint64_t launch,
              shm::KernelRecord& record) {
    const shm::GateAnswer answer =
        client_.Decide(table_, keys, name_id, [&] { return draws_(launch); });
    if (answer.captures()) client_.Captured(name_id, answer);
    record.flags = answer.flags;
    record.credit_slot = answer.credit_slot;
  }

  // Returns the credit of a launch that was decided but not captured.
  void Return(const shm::KernelRecord& record) {
    client_.Return(table_, record.name_id, {record.credit_slot, record.flags});
  }

 private:
  shm::GateTable& table_;
  shm::LaunchDraws draws_;  // by launch number
  shm::GateClient<Exploration> client_;
};

}  // namespace stemtap::session
