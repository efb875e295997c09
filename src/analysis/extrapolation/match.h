// SPDX-License-Identifier: Apache-2.0
//
// MatchResults finds the sample that each result belongs to. Results have the ids of the tool that
// consumed the plan; the plan has launch indices:
//
//   csv        id - id_base
//   accelsim   id - 1
//   macsim     id
//   ncu        the n-th row of a kernel is its n-th sampled launch in launch order; if there are as
//              many rows as launches, the row index is the occurrence. Names are the names of the
//              plan, or another unambiguous form of them
//
// A table of ids overrides these rules. Results and samples without a partner are listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap::analysis {

struct MatchOptions {
  std::uint64_t id_base = 0;            // csv only
  std::optional<std::uint16_t> device;  // the results are for launches on this device
  std::unordered_map<std::uint64_t, std::uint64_t> index_of;  // id -> launch index
  bool use_ids = false;                                       // use index_of
};

inline constexpr std::size_t kNoResult = ~std::size_t{0};

struct Match {
  // By kernel, cluster, and sample of the plan: the row of the result, or kNoResult.
  std::vector<std::vector<std::vector<std::size_t>>> rows;
  std::uint64_t samples = 0;
  std::uint64_t matched = 0;
  std::vector<std::string> missing;  // "launch 4711 (name)" of the first samples without a result
  std::uint64_t missing_count = 0;
  std::vector<std::string> unmatched;  // "file:line (id 7)" of the first results without a sample
  std::uint64_t unmatched_count = 0;
  std::vector<std::string> duplicates;  // the first additional results of a sample; not used
  std::uint64_t duplicate_count = 0;
  std::vector<std::string> warnings;
};

// REQUIRES: the results have rows. Errors: no result matches, or most of the matching results have
// another kernel name, grid, or block; or rows that are matched by order have the grid and block of
// another sample of their kernel.
Result<Match> MatchResults(const model::Plan& plan, const formats::KernelResults& results,
                           const MatchOptions& options);

// IdTable maps result ids to launch indices.
using IdTable = std::unordered_map<std::uint64_t, std::uint64_t>;

// Reads the table of `--ids`: a CSV with the columns id and index and at least one row.
Result<IdTable> ReadIds(std::unique_ptr<ByteSource> source);
Result<IdTable> LoadIds(const std::string& path);

}  // namespace stemtap::analysis
