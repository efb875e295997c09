// SPDX-License-Identifier: Apache-2.0
//
// InvocationGroups inverts the group of each launch: it contains the launches of each group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stemtap::research {

struct InvocationGroups {
  // By group, in launch order within each; excluded launches are omitted.
  std::vector<std::uint64_t> order;
  std::vector<std::size_t> starts;  // group g is [starts[g], starts[g + 1]) of order

  std::size_t size() const { return starts.size() - 1; }
  std::span<std::uint64_t> group(std::size_t g) {
    return std::span(order).subspan(starts[g], starts[g + 1] - starts[g]);
  }
};

InvocationGroups GroupInvocations(std::span<const std::uint32_t> groups);

}  // namespace stemtap::research
