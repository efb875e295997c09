// SPDX-License-Identifier: Apache-2.0
//
// What a traced process does at a launch, done by the collector or a tracer instead: the keys of
// the launch (LaunchTracker) and the answer of the gate (LocalGate).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shm/context_key.h"
#include "shm/deny_list.h"
#include "shm/gate_client.h"
#include "shm/gate_table.h"
#include "shm/launch_draw.h"
#include "shm/launch_keys.h"
#include "shm/record.h"

namespace stemtap::session {

// LaunchTracker computes the keys of launches (shm/launch_keys.h), as the traced process does. It
// remembers the last two kernels that were launched on each (process, device, stream).
//
// THREADS: one caller.
class LaunchTracker {
 public:
  // A replay sees the kernels of graphs as launches, which are part of histories and have node
  // keys. A gate at the launch call does not see them.
  enum class Graphs { kInHistories, kOutside };

  // 65,536 histories take 4 MiB, more streams than any program uses at a time. If a program keeps
  // creating streams, all histories are cleared.
  static constexpr std::size_t kMaxStreams = std::size_t{1} << 16;

  explicit LaunchTracker(Graphs graphs) : graphs_(graphs) {}

  // Returns the keys of the next launch, and appends it to the history of its stream. `process`
  // distinguishes processes whose devices and streams have the same numbers.
  shm::LaunchKeys Next(const shm::KernelRecord& record, std::uint64_t name_hash,
                       std::uint16_t process = 0) {
    shm::LaunchHistory& history = HistoryOf(record, process);
    shm::LaunchKeys keys(name_hash, record, history);
    if (graphs_ == Graphs::kInHistories) {
      keys.node = shm::NodeKey(keys.config, record.graph_id, record.graph_node);
    }
    if (graphs_ == Graphs::kInHistories || record.graph_id == 0) {
      history = shm::Advance(history, name_hash);
    }
    return keys;
  }

 private:
  // The reference is valid until the next call.
  shm::LaunchHistory& HistoryOf(const shm::KernelRecord& record, std::uint16_t process) {
    const std::uint64_t key =
        (std::uint64_t{process} << 48) | (std::uint64_t{record.device} << 32) | record.stream;
    if (key != last_key_ || last_ == nullptr) {
      if (histories_.size() >= kMaxStreams) histories_.clear();
      last_key_ = key;
      last_ = &histories_[key];
    }
    return *last_;
  }

  Graphs graphs_;
  std::unordered_map<std::uint64_t, shm::LaunchHistory> histories_;
  std::uint64_t last_key_ = 0;
  shm::LaunchHistory* last_ = nullptr;
};

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

// DeniedKernels remembers which kernels are on the deny list, and the first one that was launched.
class DeniedKernels {
 public:
  // Returns whether a kernel is on the deny list. `name`: of the kernel `name_id`.
  bool Contains(std::uint32_t name_id, std::string_view name) {
    if (name_id >= kernels_.size()) kernels_.resize(std::size_t{name_id} + 1, Kernel::kUnknown);
    Kernel& kernel = kernels_[name_id];
    if (kernel == Kernel::kUnknown) kernel = Learn(name);
    return kernel == Kernel::kDenied;
  }

  // Reports once that some launches are never captured, so the plan cannot cover them, as the gate
  // of a traced process does. Adds nothing if no such kernel was launched.
  void AddWarning(std::vector<std::string>& warnings) const {
    if (!why_.empty()) warnings.push_back("never captured: " + first_ + " (" + why_ + ")");
  }

 private:
  enum class Kernel : std::uint8_t { kUnknown, kAllowed, kDenied };
  // A name in a warning; as long as in the remarks of a traced process.
  static constexpr std::size_t kNameBytes = 48;

  Kernel Learn(std::string_view name) {
    const char* why = shm::WhyDenied(name);
    if (why == nullptr) return Kernel::kAllowed;
    if (why_.empty()) {
      first_ = name.substr(0, kNameBytes);
      why_ = why;
    }
    return Kernel::kDenied;
  }

  std::vector<Kernel> kernels_;  // by name id
  std::string first_;
  std::string why_;  // empty: none was launched
};

// LocalGate makes gate decisions in the process of the engine, for launches of a replay or a tracer
// (shm/gate_client.h). As in a traced process, kernels on the deny list (shm/deny_list.h) are never
// captured. Kernels are name ids of the engine.
//
// THREADS: one caller.
class LocalGate {
 public:
  // `table` must outlive the gate. `seed`: of the launch draws.
  LocalGate(shm::GateTable& table, std::uint64_t seed) : table_(table), draws_(seed) {}

  // From now on, launches are captured only by credit.
  void EndExploration() { explores_ = false; }

  // Decides launch number `launch`, of the kernel `name`, and sets the flags and the credit slot of
  // its record.
  void Decide(const shm::LaunchKeys& keys, std::uint32_t name_id, std::string_view name,
              std::uint64_t launch, shm::KernelRecord& record) {
    shm::GateAnswer answer;
    if (!denied_.Contains(name_id, name)) {
      answer = client_.Decide(table_, keys, name_id, [&] { return draws_(launch); });
      if (answer.exploratory() && !explores_) answer = {};
      if (answer.captures()) client_.Captured(name_id, answer);
    }
    record.flags = answer.flags;
    record.credit_slot = answer.credit_slot;
  }

  // Returns the credit of a launch that was decided but not captured.
  void Return(const shm::KernelRecord& record) {
    client_.Return(table_, record.name_id, {record.credit_slot, record.flags});
  }

  void AddWarning(std::vector<std::string>& warnings) const { denied_.AddWarning(warnings); }

 private:
  shm::GateTable& table_;
  shm::LaunchDraws draws_;  // by launch number
  DeniedKernels denied_;
  bool explores_ = true;
  shm::GateClient<Exploration> client_;
};

}  // namespace stemtap::session
