// SPDX-License-Identifier: Apache-2.0
//
// RingDefinitions receives the definitions in one ring: names of kernels and paths of ranges. Every
// value is checked, because another program writes the ring.
//
// THREADS: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shm/record.h"

namespace stemtap::session {

class RingDefinitions {
 public:
  // Returns the session-wide id of a kernel name, or kRefused if the session accepts no more names.
  using NameToId = std::function<std::uint32_t(std::string_view)>;
  static constexpr std::uint32_t kUndefined = ~std::uint32_t{0};
  static constexpr std::uint32_t kRefused = kUndefined - 1;

  // Begins or continues a definition. Return whether the record is valid.
  bool Begin(const shm::NameRecord& head, const NameToId& id_of);
  bool Continue(const shm::NameBytes& more, const NameToId& id_of);

  // Returns the session-wide id of a kernel name of this ring, kUndefined or kRefused.
  std::uint32_t KernelOf(std::uint32_t name_id) const {
    return name_id < kernels_.size() ? kernels_[name_id] : kUndefined;
  }
  // Returns the path of a range of this ring; empty if it is not defined. Valid until the next
  // definition.
  std::string_view RangeOf(std::uint32_t range_id) const {
    return range_id < ranges_.size() ? std::string_view(ranges_[range_id]) : std::string_view();
  }

 private:
  bool MayBegin(const shm::NameRecord& head) const;
  void Finish(const NameToId& id_of);

  std::vector<std::uint32_t> kernels_;  // by the process's name id
  std::vector<std::string> ranges_;     // by the process's range id
  std::size_t name_bytes_ = 0;          // total of all kernel names
  // The definition in progress.
  bool is_open_ = false;
  shm::RecordKind kind_ = shm::RecordKind::kName;
  std::uint32_t id_ = 0;
  std::uint32_t length_ = 0;
  std::string text_;
};

}  // namespace stemtap::session
