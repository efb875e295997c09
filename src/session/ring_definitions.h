// SPDX-License-Identifier: Apache-2.0
//
// RingDefinitions reads the definitions in one ring file: names of kernels and paths of ranges.
// Every value is checked, because another program writes the file: an id is defined once and is
// below its maximum, and all definitions together have at most shm::kMaxDefinitions records. They
// are copied from the file before they are checked, so the program cannot change them in between,
// and a truncated file is an early end.
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

#include "base/file_descriptor.h"
#include "shm/record.h"

namespace stemtap::session {

class RingDefinitions {
 public:
  // Returns the session-wide id of a kernel name, or kRefused if the session accepts no more names.
  using NameToId = std::function<std::uint32_t(std::string_view)>;
  static constexpr std::uint32_t kUndefined = ~std::uint32_t{0};
  static constexpr std::uint32_t kRefused = kUndefined - 1;

  // `file` is the ring file.
  explicit RingDefinitions(FileDescriptor file) : file_(std::move(file)) {}

  // Reads the definitions that the process has completed, of which there are `written` records in
  // total. Returns the number of invalid records among them.
  std::uint64_t Read(std::uint32_t written);

  // Returns the session-wide id of a kernel name of this ring, kUndefined or kRefused. Names get
  // their session-wide ids in the order of their first use.
  std::uint32_t KernelOf(std::uint32_t name_id, const NameToId& id_of);
  // Returns the path of a range of this ring; empty if it is not defined. Valid until the next
  // Read.
  std::string_view RangeOf(std::uint32_t range_id) const {
    return range_id < ranges_.size() ? std::string_view(ranges_[range_id]) : std::string_view();
  }

 private:
  struct Kernel {
    bool is_defined = false;
    std::uint32_t id = kUndefined;  // session-wide; kUndefined before the first use
    std::string name;               // until the first use
  };

  bool IsDefined(std::uint32_t name_id) const {
    return name_id < kernels_.size() && kernels_[name_id].is_defined;
  }
  // Return whether the record is valid.
  bool Take(const shm::Record& record);
  bool MayBegin(const shm::NameRecord& head) const;
  bool Begin(const shm::NameRecord& head);
  bool Continue(const shm::NameBytes& more);
  void Finish();

  FileDescriptor file_;
  std::uint32_t read_ = 0;           // records
  std::vector<Kernel> kernels_;      // by the process's name id
  std::vector<std::string> ranges_;  // by the process's range id
  // The definition in progress.
  bool is_open_ = false;
  shm::RecordKind kind_ = shm::RecordKind::kName;
  std::uint32_t id_ = 0;
  std::uint32_t length_ = 0;
  std::string text_;
};

}  // namespace stemtap::session
