// SPDX-License-Identifier: Apache-2.0
//
// Which result is of which sample. Results carry the consumer's ids, the plan launch indexes:
//
//   csv        id - id_base
//   accelsim   id - 1
//   macsim     id
//   ncu        the n-th row of a kernel name is its n-th sampled launch in order; where there are as
//              many rows as launches, the row of its occurrence. Names are those of the plan, or
//              another form of them that is in no doubt
//
// or whatever a table of ids says. Nothing is passed over: what has no partner is listed.
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

namespace stemtap {

struct MatchOptions {
  std::uint64_t id_base = 0;            // of csv
  std::optional<std::uint16_t> device;  // results are of this device's launches
  std::unordered_map<std::uint64_t, std::uint64_t> index_of;  // id -> launch index
  bool use_ids = false;                                       // take index_of
};

inline constexpr std::size_t kNoResult = ~std::size_t{0};

struct Match {
  // By kernel, cluster and sample of the plan: the row of its result, or kNoResult.
  std::vector<std::vector<std::vector<std::size_t>>> rows;
  std::uint64_t samples = 0;
  std::uint64_t matched = 0;
  std::vector<std::string> missing;  // "index 4711 (name)" of the first samples without result
  std::uint64_t missing_count = 0;
  std::vector<std::string> strangers;  // "file:line (id 7)" of the first results without sample
  std::uint64_t stranger_count = 0;
  std::vector<std::string> duplicates;  // ... of the first further results of a sample, not used
  std::uint64_t duplicate_count = 0;
  std::vector<std::string> warnings;
};

// An error when nothing matches, or when most of what matches has another kernel's name or shape.
Result<Match> MatchResults(const Plan& plan, const KernelResults& results,
                           const MatchOptions& options);

// Launch index by id.
using IdTable = std::unordered_map<std::uint64_t, std::uint64_t>;

// The table of `--ids`: a CSV with the columns id and index, and at least one row.
Result<IdTable> ReadIds(std::unique_ptr<ByteSource> source);
Result<IdTable> LoadIds(const std::string& path);

}  // namespace stemtap
