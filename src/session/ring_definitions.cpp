// SPDX-License-Identifier: Apache-2.0
#include "session/ring_definitions.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "shm/ring.h"

namespace stemtap::session {
namespace {

// A process defines shm::kMaxRanges ranges, and a few more if several threads add ranges at once.
constexpr std::uint32_t kMaxRangeId = 2 * shm::kMaxRanges;
// Records read at a time, on the stack.
constexpr std::uint32_t kReadAtOnce = 256;

}  // namespace

std::uint64_t RingDefinitions::Read(std::uint32_t written) {
  shm::Record piece[kReadAtOnce];
  std::uint64_t invalid = 0;
  written = std::min(written, shm::kMaxDefinitions);
  while (read_ < written) {
    const std::size_t wanted = std::min(kReadAtOnce, written - read_) * sizeof(shm::Record);
    const ssize_t got =
        ::pread(file_.get(), piece, wanted, static_cast<off_t>(shm::RingFileBytes(read_)));
    // Less than a record: the file was truncated.
    const std::size_t count = got < 0 ? 0 : static_cast<std::size_t>(got) / sizeof(shm::Record);
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) invalid += !Take(piece[i]);
    read_ += static_cast<std::uint32_t>(count);
  }
  return invalid;
}

bool RingDefinitions::Take(const shm::Record& record) {
  switch (record.kind) {
    case shm::RecordKind::kName:
    case shm::RecordKind::kRange:
      return Begin(record.name);
    case shm::RecordKind::kNameBytes:
      return Continue(record.name_bytes);
    default:
      is_open_ = false;
      return false;
  }
}

bool RingDefinitions::MayBegin(const shm::NameRecord& head) const {
  if (head.kind == shm::RecordKind::kRange) {
    return head.name_id != shm::kNoRange && head.name_id <= kMaxRangeId && head.length != 0 &&
           head.length <= shm::kMaxRangeBytes && RangeOf(head.name_id).empty();
  }
  return head.name_id < shm::kMaxNames && head.length <= shm::kMaxNameBytes &&
         !IsDefined(head.name_id);
}

bool RingDefinitions::Begin(const shm::NameRecord& head) {
  is_open_ = MayBegin(head);
  if (!is_open_) return false;
  kind_ = head.kind;
  id_ = head.name_id;
  length_ = head.length;
  text_.assign(head.bytes, std::min<std::size_t>(head.length, sizeof(head.bytes)));
  Finish();
  return true;
}

bool RingDefinitions::Continue(const shm::NameBytes& more) {
  is_open_ = is_open_ && more.count != 0 && more.count <= sizeof(more.bytes) &&
             text_.size() + more.count <= length_;
  if (!is_open_) return false;
  text_.append(more.bytes, more.count);
  Finish();
  return true;
}

// Stores the definition if it is complete.
void RingDefinitions::Finish() {
  if (text_.size() < length_) return;
  is_open_ = false;
  if (kind_ == shm::RecordKind::kRange) {
    if (id_ >= ranges_.size()) ranges_.resize(std::size_t{id_} + 1);
    ranges_[id_] = text_;
    return;
  }
  if (id_ >= kernels_.size()) kernels_.resize(std::size_t{id_} + 1);
  kernels_[id_] = {true, kUndefined, text_};
}

std::uint32_t RingDefinitions::KernelOf(std::uint32_t name_id, const NameToId& id_of) {
  if (!IsDefined(name_id)) return kUndefined;
  Kernel& kernel = kernels_[name_id];
  if (kernel.id == kUndefined) {
    kernel.id = id_of(kernel.name);
    std::string().swap(kernel.name);
  }
  return kernel.id;
}

}  // namespace stemtap::session
