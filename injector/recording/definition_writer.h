// SPDX-License-Identifier: Apache-2.0
//
// DefinitionWriter appends the definitions of kernel names and range paths to the ring file. The
// reader finds a definition when it meets its id, so each must be written before a record that
// refers to it is pushed.
//
// The first definitions are in the memory that SessionFiles mapped. For more, the file grows; this
// can fail, because the disk is full or the program can no longer open the file. Then nothing is
// written, and the next buffer tries again.
//
// THREADS: one producer at a time.
#pragma once

#include <cstdint>

#include "shm/record.h"
#include "shm/ring.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class DefinitionWriter {
 public:
  enum class Result {
    kWritten,
    kFull,     // the definitions have their maximum size
    kNoSpace,  // the file cannot grow now
  };

  void Init(SessionFiles& files) noexcept;
  // Starts a new buffer.
  void NextBuffer() noexcept { refused_ = false; }

  // `kind`: kName or kRange. `hash`: 0 for ranges.
  Result Write(shm::RecordKind kind, std::uint32_t id, const char* text, std::uint32_t length,
               std::uint64_t hash) noexcept;

  // Defines `id` as the name `base` in the range `range`, both defined before.
  Result WriteRanged(std::uint32_t id, std::uint32_t base, std::uint32_t range) noexcept;

 private:
  Result MakeRoom(std::uint32_t records) noexcept;
  void Publish() noexcept;
  bool Grow() noexcept;
  void Append(const void* record) noexcept;

  SessionFiles* files_ = nullptr;
  MappedDefinitions window_;   // where records are written
  std::uint32_t written_ = 0;  // records
  bool refused_ = false;       // the file could not grow during this buffer
};

}  // namespace stemtap::inject
