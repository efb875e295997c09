// SPDX-License-Identifier: Apache-2.0
#include "control/thread_ranges.h"

namespace stemtap::inject {
namespace {

constexpr int kNoneOpen = -1;

}  // namespace

int ThreadRanges::Push(RangePaths& paths, const RangeDomain& domain, RangeName name) noexcept {
  static_assert(RangePaths::kOther <= UINT16_MAX);
  if (refused_ == 0) {
    const std::uint32_t id = paths.Intern(innermost_, domain, name);
    if (id != shm::kNoRange) {
      innermost_ = static_cast<std::uint16_t>(id);
      return static_cast<int>(paths.DepthOf(id));
    }
  }
  const std::uint32_t open =
      paths.CountOf(innermost_, domain.id) + refused_in_[CounterOf(domain.id)];
  Refuse(domain.id);
  return static_cast<int>(open);
}

int ThreadRanges::Pop(RangePaths& paths, std::uint32_t domain) noexcept {
  std::uint16_t& refused = refused_in_[CounterOf(domain)];
  if (refused == 0) return Remove(paths, domain);
  --refused;
  --refused_;
  return static_cast<int>(paths.CountOf(innermost_, domain) + refused);
}

// A program that opens ranges without end is not counted further. Its ranges stay refused.
void ThreadRanges::Refuse(std::uint32_t domain) noexcept {
  if (refused_ == UINT16_MAX) return;
  ++refused_;
  ++refused_in_[CounterOf(domain)];
}

int ThreadRanges::Remove(RangePaths& paths, std::uint32_t domain) noexcept {
  std::uint16_t inside[RangePaths::kMaxDepth];  // innermost first
  std::uint32_t count = 0;
  std::uint32_t id = innermost_;
  for (; id != shm::kNoRange && paths.DomainOf(id) != domain; id = paths.ParentOf(id)) {
    inside[count++] = static_cast<std::uint16_t>(id);
  }
  if (id == shm::kNoRange) return kNoneOpen;
  const int depth = static_cast<int>(paths.DepthOf(id));
  std::uint32_t innermost = paths.ParentOf(id);
  for (bool fits = true; count != 0;) {
    const std::uint32_t moved = inside[--count];
    id = fits ? paths.Move(moved, innermost) : shm::kNoRange;
    fits = id != shm::kNoRange;
    if (fits) {
      innermost = id;
    } else {
      Refuse(paths.DomainOf(moved));
    }
  }
  innermost_ = static_cast<std::uint16_t>(innermost);
  return depth;
}

}  // namespace stemtap::inject
