// SPDX-License-Identifier: Apache-2.0
#include "recording/definition_writer.h"

#include <string.h>

namespace stemtap::inject {

void DefinitionWriter::Init(SessionFiles& files) noexcept {
  files_ = &files;
  window_ = files.first_definitions();
}

DefinitionWriter::Result DefinitionWriter::Write(shm::RecordKind kind, std::uint32_t id,
                                                 const char* text, std::uint32_t length,
                                                 std::uint64_t hash) noexcept {
  const Result room = MakeRoom(shm::NameRecordCount(length));
  if (room != Result::kWritten) return room;
  shm::NameRecord head;
  head.kind = kind;
  head.name_id = id;
  head.length = length;
  head.hash = hash;
  std::uint32_t at =
      length < sizeof(head.bytes) ? length : static_cast<std::uint32_t>(sizeof(head.bytes));
  ::memcpy(head.bytes, text, at);
  Append(&head);
  while (at < length) {
    shm::NameBytes more;
    const std::uint32_t left = length - at;
    more.count = static_cast<std::uint8_t>(left < sizeof(more.bytes) ? left : sizeof(more.bytes));
    ::memcpy(more.bytes, text + at, more.count);
    at += more.count;
    Append(&more);
  }
  Publish();
  return Result::kWritten;
}

DefinitionWriter::Result DefinitionWriter::WriteRanged(std::uint32_t id, std::uint32_t base,
                                                       std::uint32_t range) noexcept {
  const Result room = MakeRoom(1);
  if (room != Result::kWritten) return room;
  shm::RangedName record;
  record.name_id = id;
  record.base_id = base;
  record.range_id = range;
  Append(&record);
  Publish();
  return Result::kWritten;
}

// Returns kWritten if `records` more can be written.
DefinitionWriter::Result DefinitionWriter::MakeRoom(std::uint32_t records) noexcept {
  if (written_ + records > shm::kMaxDefinitions) return Result::kFull;
  if (written_ + records > window_.end && !Grow()) return Result::kNoSpace;
  return Result::kWritten;
}

void DefinitionWriter::Publish() noexcept {
  // Release: publishes the records; pairs with the acquire in RingReader.
  files_->ring().header.definitions.store(written_, std::memory_order_release);
}

// REQUIRES: the window has room.
void DefinitionWriter::Append(const void* record) noexcept {
  ::memcpy(window_.RecordAt(written_++), record, shm::kRecordBytes);
}

bool DefinitionWriter::Grow() noexcept {
  if (refused_) return false;
  const MappedDefinitions next = files_->MapDefinitions(written_);
  refused_ = next.memory == nullptr;
  if (refused_) return false;
  files_->UnmapDefinitions(window_);
  window_ = next;
  return true;
}

}  // namespace stemtap::inject
