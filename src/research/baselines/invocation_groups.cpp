// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/invocation_groups.h"

#include <algorithm>
#include <numeric>

#include "model/kernel_groups.h"

namespace stemtap::research {

InvocationGroups GroupInvocations(std::span<const std::uint32_t> groups) {
  std::uint32_t count = 0;
  for (const std::uint32_t g : groups) {
    if (g != model::kExcludedKernel) count = std::max(count, g + 1);
  }
  InvocationGroups result;
  result.starts.assign(std::size_t{count} + 1, 0);
  for (const std::uint32_t g : groups) {
    if (g != model::kExcludedKernel) ++result.starts[std::size_t{g} + 1];
  }
  std::partial_sum(result.starts.begin(), result.starts.end(), result.starts.begin());
  result.order.resize(result.starts.back());
  std::vector<std::size_t> next = result.starts;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != model::kExcludedKernel) result.order[next[groups[i]]++] = i;
  }
  return result;
}

}  // namespace stemtap::research
