// SPDX-License-Identifier: Apache-2.0
#include "session/ring_definitions.h"

#include <algorithm>
#include <utility>

namespace stemtap::session {
namespace {

// A process defines at most 65,536 names, so a larger id is damage.
constexpr std::uint32_t kMaxNames = 1u << 16;
// A process defines shm::kMaxRanges ranges, and a few more if several threads add ranges at once.
constexpr std::uint32_t kMaxRangeId = 2 * shm::kMaxRanges;

// Maximum total name length of one process: 64 MiB, 1 KiB for each of 65,536 names. With 16 KiB per
// name, one damaged ring could take 1 GiB, stored and written about six times.
constexpr std::size_t kMaxAllNameBytes = std::size_t{64} << 20;

}  // namespace

bool RingDefinitions::MayBegin(const shm::NameRecord& head) const {
  if (head.kind == shm::RecordKind::kRange) {
    return head.name_id != shm::kNoRange && head.name_id <= kMaxRangeId && head.length != 0 &&
           head.length <= shm::kMaxRangeBytes && RangeOf(head.name_id).empty();
  }
  return head.name_id < kMaxNames && head.length <= shm::kMaxNameBytes &&
         KernelOf(head.name_id) == kUndefined;
}

bool RingDefinitions::Begin(const shm::NameRecord& head, const NameToId& id_of) {
  is_open_ = MayBegin(head);
  if (!is_open_) return false;
  kind_ = head.kind;
  id_ = head.name_id;
  length_ = head.length;
  text_.assign(head.bytes, std::min<std::size_t>(head.length, sizeof(head.bytes)));
  Finish(id_of);
  return true;
}

bool RingDefinitions::Continue(const shm::NameBytes& more, const NameToId& id_of) {
  is_open_ = is_open_ && more.count != 0 && more.count <= sizeof(more.bytes) &&
             text_.size() + more.count <= length_;
  if (!is_open_) return false;
  text_.append(more.bytes, more.count);
  Finish(id_of);
  return true;
}

// Stores the definition if it is complete.
void RingDefinitions::Finish(const NameToId& id_of) {
  if (text_.size() < length_) return;
  is_open_ = false;
  if (kind_ == shm::RecordKind::kRange) {
    if (id_ >= ranges_.size()) ranges_.resize(std::size_t{id_} + 1);
    ranges_[id_] = text_;
    return;
  }
  if (id_ >= kernels_.size()) kernels_.resize(std::size_t{id_} + 1, kUndefined);
  name_bytes_ += text_.size();
  kernels_[id_] = name_bytes_ > kMaxAllNameBytes ? kRefused : id_of(text_);
}

}  // namespace stemtap::session
