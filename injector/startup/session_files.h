// SPDX-License-Identifier: Apache-2.0
//
// SessionFiles is this process's part of the session folder: its ring, which it makes, and the gate
// table, which the collector makes.
//
// THREADS: Open once; MapGate from the flusher; the rest from anywhere.
#pragma once

#include <atomic>
#include <cstdint>

#include "shm/gate_table.h"
#include "shm/launch_draw.h"
#include "shm/ring.h"
#include "startup/runtime.h"

namespace stemtap::inject {

class SessionFiles {
 public:
  // Makes `ring.<pid>` in `folder`: all its blocks are allocated before it is seen under its name,
  // so that a full disk is an error here and not a SIGBUS later. A session that has ended, and
  // nobody would read the ring of, is an error too. On failure writes what went wrong
  // to `problem` and returns false.
  bool Open(const char* folder, char* problem, std::uint32_t problem_size) noexcept;

  // Takes the ring out of the folder again; the mapping stays. REQUIRES: Open succeeded.
  void Remove() noexcept;

  // REQUIRES: Open succeeded.
  shm::RingFile& ring() noexcept { return *ring_; }

  // Maps the gate table if it is there by now. A table of another version is reported once, as a remark.
  void MapGate() noexcept;
  // nullptr until it is mapped.
  shm::GateTable* gate() noexcept {
    // Acquire: matched by the release in MapGate, so that the mapping is seen whole.
    return gate_.load(std::memory_order_acquire);
  }

  // The hash under which the gate knows a name: with the process's id where processes are kept apart.
  // REQUIRES: gate() is there.
  std::uint64_t GateHash(std::uint64_t name_hash) const noexcept {
    return by_process_ ? shm::ProcessNameHash(name_hash, ring_->header.pid) : name_hash;
  }

  // Returns the random draw of the launch with this number in the process. REQUIRES: gate() is there.
  std::uint32_t Draw(std::uint64_t number) const noexcept { return draws_(number); }

  void Count(shm::Loss loss, std::uint64_t by = 1) noexcept {
    ring_->header.losses[static_cast<std::uint32_t>(loss)].fetch_add(by, std::memory_order_relaxed);
  }
  // What the user must know, behind what was said before; dropped where there is no room any more.
  // The collector may read meanwhile: what it has read stays as it was.
  void Remark(const char* text) noexcept;
  // Nothing will be recorded from now on, because of `reason`.
  void StandDown(const char* reason) noexcept;
  void SetState(shm::RingState state) noexcept {
    // Release: publishes reason and counters; matched by the collector's acquire.
    ring_->header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  }

 private:
  char folder_[4096] = {};
  shm::RingFile* ring_ = nullptr;
  std::atomic<shm::GateTable*> gate_{nullptr};
  // Written before gate_ is, read after.
  bool by_process_ = false;
  shm::LaunchDraws draws_;
  bool gate_refused_ = false;  // the table has another version; used by MapGate only
  SpinLock remark_lock_;
};

}  // namespace stemtap::inject
