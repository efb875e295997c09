// SPDX-License-Identifier: Apache-2.0
//
// RingReader is the collector's end of one traced process: maps its ring file, takes records out,
// resolves name definitions, and knows whether the process still lives.
//
// The ring is written by another program: everything read from it is checked before it is used as
// an index or a length. What makes no sense is counted as malformed. A queue whose indices make no
// sense is read no further, nor is a file that somebody truncates; the records that were lost with it
// count as malformed. A process may define a name id once, and names of 64 MiB in all; kernels of
// further names count as too_many_names.
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/directory.h"
#include "base/result.h"
#include "session/session_writer.h"
#include "session/shared_mapping.h"
#include "shm/ring.h"

namespace stemtap {

class RingReader {
 public:
  // Gives the session-wide id of a kernel name; kRefused if the session takes no more names.
  using NameToId = std::function<std::uint32_t(std::string_view)>;
  static constexpr std::uint32_t kRefused = ~std::uint32_t{0} - 1;

  static Result<RingReader> Open(const std::string& path);
  static Result<RingReader> Open(const Directory& directory, const std::string& name);
  RingReader(RingReader&& other) noexcept;
  RingReader& operator=(RingReader&&) = delete;
  ~RingReader();

  // Takes out at most `limit` records and appends the kernels among them, name_id turned into the
  // session's. Returns how many were taken; less than `limit` means that the ring was empty.
  std::size_t Drain(std::size_t limit, const NameToId& id_of, std::vector<shm::KernelRecord>& out);

  // Counts a record that Drain returned as malformed after all.
  void CountMalformed() {
    --read_;
    ++malformed_;
  }

  // Whether the process has said goodbye or is known to be gone: what is in the ring now is all there
  // will be.
  bool Ended() const;
  // Whether the process lives where its id means nothing here (a container with PIDs of its own), so that
  // nobody can tell when it is gone.
  bool elsewhere() const { return elsewhere_; }

  std::int32_t pid() const { return pid_; }
  // The counters as they stand; exact once Ended.
  ProcessReport Report() const;
  // The last report on a ring that is read no further. It goes by the records that were taken, so
  // its counts add up: a process may have been killed between a record and its counts, may still
  // record, or may have written nonsense.
  ProcessReport FinalReport() const;

 private:
  static Result<RingReader> OpenAt(int directory, const std::string& name, const std::string& path);
  RingReader(SharedMapping mapping, bool elsewhere, int pidfd)
      : mapping_(std::move(mapping)),
        pid_(ring().header.pid),
        elsewhere_(elsewhere),
        pidfd_(pidfd) {}
  shm::RingFile& ring() const { return *static_cast<shm::RingFile*>(mapping_.memory()); }
  // Why the ring is read no further; null: it is sound.
  const char* Damage() const;
  ProcessReport ReadHeader() const;
  void Take(const shm::Record& record, const NameToId& id_of, std::vector<shm::KernelRecord>& out);
  void TakeName(const shm::NameRecord& head);
  void TakeNameBytes(const shm::NameBytes& more);
  void FinishName(const NameToId& id_of);

  static constexpr std::uint32_t kUndefined = ~std::uint32_t{0};

  SharedMapping mapping_;
  std::int32_t pid_;
  bool elsewhere_;
  int pidfd_;  // -1: there is none, the process is asked for by its pid
  std::vector<std::uint32_t> session_ids_;  // by the process's name id
  // The definition in progress.
  std::uint32_t name_id_ = kUndefined;
  std::uint32_t name_length_ = 0;
  std::string name_;
  std::uint64_t read_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t refused_ = 0;   // kernels whose names were refused
  std::size_t name_bytes_ = 0;  // of all names defined
  bool bad_indices_ = false;
  mutable ProcessReport last_;  // as the header had it when the file was last known to be whole
};

}  // namespace stemtap
