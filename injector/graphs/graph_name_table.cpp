// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_name_table.h"

#include <string.h>

#include "recording/name_hash.h"

namespace stemtap::inject {

void GraphNameTable::Put(std::uint32_t graph_id, const char* name, std::uint32_t length) noexcept {
  lock_.Lock();
  const std::uint32_t index = Intern(name, length);
  lock_.Unlock();
  if (index == kFull) return PutProblem(graph_id, {GraphProblem::kTooManyNames});
  Set(graph_id, index + 1);
}

void GraphNameTable::PutProblem(std::uint32_t graph_id, GraphProblem problem) noexcept {
  Set(graph_id, kIsProblem | (std::uint32_t{problem.kind} << 24 & ~kIsProblem) |
                    (std::uint32_t{problem.call} << 16) | problem.error);
}

void GraphNameTable::Set(std::uint32_t graph_id, std::uint32_t value) noexcept {
  // Release: publishes the name; pairs with the acquire in Find. The name was written by this
  // thread, or by one that released lock_ before this thread took it.
  entries_[graph_id % kIds].store((std::uint64_t{graph_id} << 32) | value,
                                  std::memory_order_release);
}

std::uint32_t GraphNameTable::Intern(const char* name, std::uint32_t length) noexcept {
  std::uint32_t bucket = static_cast<std::uint32_t>(HashName(name, length) >> 32) % kBuckets;
  for (; buckets_[bucket] != 0; bucket = (bucket + 1) % kBuckets) {
    const std::uint32_t index = buckets_[bucket] - 1;
    const Name& known = names_[index];
    if (known.length == length && ::memcmp(known.text, name, length) == 0) return index;
  }
  if (name_count_ == kMaxNames) return kFull;
  Name& added = names_[name_count_];
  added.length = length;
  ::memcpy(added.text, name, length);
  buckets_[bucket] = ++name_count_;
  return name_count_ - 1;
}

GraphNameTable::Found GraphNameTable::Find(std::uint32_t graph_id) const noexcept {
  // Acquire: pairs with the release in Set.
  const std::uint64_t entry = entries_[graph_id % kIds].load(std::memory_order_acquire);
  const auto value = static_cast<std::uint32_t>(entry);
  if (value == 0 || entry >> 32 != graph_id) return {nullptr, 0, {GraphProblem::kUnseen}};
  if ((value & kIsProblem) != 0) {
    const auto kind = static_cast<GraphProblem::Kind>(value >> 24 & 0x7F);
    return {nullptr,
            0,
            {kind, static_cast<std::uint8_t>(value >> 16), static_cast<std::uint16_t>(value)}};
  }
  const Name& name = names_[value - 1];
  return {name.text, name.length, {}};
}

}  // namespace stemtap::inject
