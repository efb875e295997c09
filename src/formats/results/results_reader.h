// SPDX-License-Identifier: Apache-2.0
//
// Reads per-kernel results of a simulator or counter tool. docs/formats/results.md says what is
// taken from each source; `source` names the text in errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"

namespace stemtap {

struct ResultsOptions {
  std::optional<ResultsSource> source;  // nothing: found by content
  std::string id_column;                // of a CSV; empty: the first of index, id, kernel_id, ID
  bool allow_cut = false;               // take what is whole of a log that ends early
};

// What the leading bytes of a file look like.
std::optional<ResultsSource> DetectResults(std::string_view leading);

// One file.
Result<KernelResults> ReadResults(std::unique_ptr<ByteSource> source,
                                  const ResultsOptions& options);

// Several files of one source, rows in the order of the files. REQUIRES: a path.
Result<KernelResults> LoadResults(const std::vector<std::string>& paths,
                                  const ResultsOptions& options);

// The readers of the single sources.
Result<KernelResults> ReadAccelsimLog(std::unique_ptr<ByteSource> source, bool allow_cut);
Result<KernelResults> ReadMacsimLog(std::unique_ptr<ByteSource> source, bool allow_cut);
Result<KernelResults> ReadNcuResults(std::unique_ptr<ByteSource> source);
Result<KernelResults> ReadCsvResults(std::unique_ptr<ByteSource> source,
                                     const std::string& id_column);

// Whether a metric of that name and unit is a share, rate or setting rather than a sum.
MetricKind GuessKind(std::string_view name, std::string_view unit);

}  // namespace stemtap
