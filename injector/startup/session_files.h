// SPDX-License-Identifier: Apache-2.0
//
// SessionFiles maps this process's files in the session directory: its ring, which it creates, and
// the gate table, which the collector creates.
//
// THREADS: call Open and SetCollector once, CollectorFailed and MapGate from the flusher, and the
// rest from any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/gate_table.h"
#include "shm/launch_draw.h"
#include "shm/ring.h"
#include "shm/session_env.h"
#include "startup/runtime.h"

namespace stemtap::inject {

inline void AddTo(std::atomic<std::uint64_t>& counter, std::uint64_t by) noexcept {
  counter.fetch_add(by, std::memory_order_relaxed);  // Relaxed: independent counter, see shm/ring.h
}

// MappedDefinitions is a mapped part of the definitions in the ring file. Their records are
// numbered from 0.
struct MappedDefinitions {
  unsigned char* memory = nullptr;  // nullptr: not mapped
  std::size_t bytes = 0;
  std::size_t first_at = 0;  // offset of record `first` in `memory`
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // one more than the last record

  void* RecordAt(std::uint32_t number) const noexcept {
    return memory + first_at + std::size_t{number - first} * shm::kRecordBytes;
  }
};

// MEMBERS: of the ring, of the gate table, and of the collector that claims the session.
class SessionFiles {
 public:
  // Creates the ring of this process image in `folder`. All its blocks are allocated before the
  // file gets its name, so that a full disk is an error here and not a SIGBUS later. Fails if the
  // session has already ended, because nothing would read the ring. On failure writes the reason to
  // `problem` and returns false.
  bool Open(const char* folder, char* problem, std::uint32_t problem_size) noexcept;

  // Removes the ring from the directory; the mapping stays valid. REQUIRES: Open succeeded.
  void Remove() noexcept;

  // Returns the directory of the session. REQUIRES: Open succeeded.
  const char* folder() const noexcept { return folder_; }
  // REQUIRES: Open succeeded.
  shm::RingFile& ring() noexcept { return *ring_; }

  // Remembers the process id of the collector that this library started.
  void SetCollector(int pid) noexcept { collector_ = pid; }
  // Returns true once, if that collector has ended without claiming the session. Then nothing would
  // read the ring: removes it with the directory, disables recording and tells the user.
  bool CollectorFailed() noexcept;
  // Returns the definitions that the file has room for from the start. REQUIRES: Open succeeded.
  MappedDefinitions first_definitions() const noexcept;

  // Maps 1 MiB of definitions from record `first` on, after extending the file. Fails if the disk
  // is full, or if the program can no longer open the ring. Leaves errno unchanged.
  MappedDefinitions MapDefinitions(std::uint32_t first) noexcept;
  // Does nothing for the first definitions, which are mapped with the ring.
  void UnmapDefinitions(const MappedDefinitions& mapped) noexcept;

  // Maps the gate table if the collector has created it. A version mismatch is reported once, as a
  // remark.
  void MapGate() noexcept;
  // Returns the gate table, or nullptr if it is not mapped yet.
  shm::GateTable* gate() noexcept {
    // Acquire: pairs with the release in MapGate, so that the whole mapping is visible.
    return gate_.load(std::memory_order_acquire);
  }

  // Returns the gate's hash of a kernel name. It includes the process id if the gate keeps
  // processes apart. REQUIRES: gate() is not null.
  std::uint64_t GateHash(std::uint64_t name_hash) const noexcept {
    return by_process_ ? shm::ProcessNameHash(name_hash, ring_->header.pid) : name_hash;
  }

  // Whether a kernel without statistics is captured once. REQUIRES: gate() is not null.
  bool explores() const noexcept { return explores_; }

  // Returns the random draw for launch `number` of this process. REQUIRES: gate() is not null.
  std::uint32_t Draw(std::uint64_t number) const noexcept { return draws_(number); }

  void Count(shm::Loss loss, std::uint64_t by = 1) noexcept {
    ring_->header.losses[static_cast<std::uint32_t>(loss)].fetch_add(by, std::memory_order_relaxed);
  }
  // Appends a message for the user to the ring header. The message is dropped if it does not fit.
  // The collector sees the message whole or not at all.
  void Remark(const char* text) noexcept;
  // Disables recording in this process, with `reason` as the reason.
  void Disable(const char* reason) noexcept;
  // What the collector, or the program, wants to be recorded. Any thread.
  shm::Recording requested() const noexcept {
    const std::uint32_t value = ring_->header.requested.load(std::memory_order_relaxed);
    return value < shm::kRecordings ? static_cast<shm::Recording>(value) : shm::Recording::kOn;
  }
  // Whether launches may be captured.
  bool may_capture() const noexcept {
    const shm::Recording now = requested();
    return now == shm::Recording::kOn || now == shm::Recording::kStarted;
  }
  void Request(shm::Recording recording) noexcept {
    ring_->header.requested.store(static_cast<std::uint32_t>(recording), std::memory_order_relaxed);
  }
  // Reports that the recording was switched off or on. REQUIRES: calls alternate, from off.
  void AddSwitch() noexcept;
  void SetState(shm::RingState state) noexcept {
    // Release: publishes remarks and counters; pairs with the collector's acquire in RingReader.
    ring_->header.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  }

 private:
  char folder_[4096] = {};
  char ring_name_[shm::kImageFileNameBytes] = {};
  shm::RingFile* ring_ = nullptr;
  // Of the ring. Another file may get its name: of a process with the same id in another container.
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<shm::GateTable*> gate_{nullptr};
  // Written before gate_ is published, read only after gate() returned the table.
  bool by_process_ = false;
  bool explores_ = false;
  shm::LaunchDraws draws_;
  int collector_ = 0;          // process id until the session is claimed; 0: nothing to watch
  bool gate_refused_ = false;  // the table has another version; only used by MapGate
  SpinLock remark_lock_;
  std::uint32_t remark_bytes_ = 0;  // of all remarks in the ring header; under remark_lock_
};

}  // namespace stemtap::inject
