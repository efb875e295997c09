// SPDX-License-Identifier: Apache-2.0
//
// GateMemory holds the gate table of a live session: in the session directory, where traced
// processes read it, or in private memory if no process asks the gate. See docs/formats/gate.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/directory.h"
#include "base/result.h"
#include "session/shared_mapping.h"
#include "shm/gate_table.h"

namespace stemtap::session {

class GateMemory {
 public:
  // Creates the gate table of a session. The file gets its name once it is complete.
  static Result<GateMemory> CreateIn(const Directory& directory, std::uint32_t gate_flags,
                                     std::uint64_t seed);
  static Result<GateMemory> Private() { return Map(-1, 0, 0); }

  shm::GateTable& table() { return static_cast<shm::GateFile*>(mapping_.memory())->table; }
  // Returns whether the file was truncated, so that no process sees further decisions.
  bool lost() const { return mapping_.lost(); }

 private:
  explicit GateMemory(SharedMapping mapping) : mapping_(std::move(mapping)) {}
  static Result<GateMemory> Fill(int fd, const std::string& path, std::uint32_t gate_flags,
                                 std::uint64_t seed);
  static Result<GateMemory> Map(int fd, std::uint32_t gate_flags, std::uint64_t seed);

  SharedMapping mapping_;
};

}  // namespace stemtap::session
