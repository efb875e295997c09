// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/distinct_rows.h"

#include <bit>
#include <unordered_map>

namespace stemtap::research {
namespace {

std::uint64_t HashRow(std::uint64_t invocation, std::span<const std::span<const double>> columns) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const std::span<const double> column : columns) {
    // + 0.0 makes -0 and 0, which are equal, have the same hash.
    hash = (hash ^ std::bit_cast<std::uint64_t>(column[invocation] + 0.0)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

DistinctRows FindDistinctRows(std::span<const std::uint64_t> invocations,
                              std::span<const std::span<const double>> columns) {
  DistinctRows rows;
  rows.columns = columns.size();
  rows.row_of.reserve(invocations.size());
  std::unordered_multimap<std::uint64_t, std::uint32_t> known;
  for (const std::uint64_t i : invocations) {
    const std::uint64_t hash = HashRow(i, columns);
    auto [at, end] = known.equal_range(hash);
    for (; at != end; ++at) {
      const std::span<const double> row = rows.row(at->second);
      bool equal = true;
      for (std::size_t c = 0; c < columns.size(); ++c) equal = equal && row[c] == columns[c][i];
      if (equal) break;
    }
    if (at != end) {
      ++rows.counts[at->second];
      rows.row_of.push_back(at->second);
      continue;
    }
    const auto id = static_cast<std::uint32_t>(rows.size());
    known.emplace(hash, id);
    for (const std::span<const double> column : columns) rows.values.push_back(column[i] + 0.0);
    rows.counts.push_back(1);
    rows.first.push_back(i);
    rows.row_of.push_back(id);
  }
  return rows;
}

}  // namespace stemtap::research
