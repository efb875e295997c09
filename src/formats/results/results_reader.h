// SPDX-License-Identifier: Apache-2.0
//
// Reads per-kernel results of a simulator or counter tool. docs/formats/results.md lists what is
// read from each source; `source` is the name of the text in errors.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "formats/results/kernel_results.h"

namespace stemtap::formats {

struct ResultsOptions {
  std::optional<ResultsSource> source;  // nullopt: detected by content
  std::string id_column;                // of a CSV; empty: the first of index, id, kernel_id, ID
  bool allow_cut = false;               // read the complete part of a log that ends early
};

// Detects the source from the leading bytes of a file.
std::optional<ResultsSource> DetectResults(std::string_view leading);

// Reads one file.
Result<KernelResults> ReadResults(std::unique_ptr<ByteSource> source,
                                  const ResultsOptions& options);

// Reads several files of one source; rows are in the order of the files. Files of ncu whose names
// differ only in numbers are read in the order of the numbers, with a warning if that is another
// order. REQUIRES: at least one path.
Result<KernelResults> LoadResults(std::vector<std::string> paths, const ResultsOptions& options);

// The readers for each source.
Result<KernelResults> ReadAccelsimLog(std::unique_ptr<ByteSource> source, bool allow_cut);
Result<KernelResults> ReadMacsimLog(std::unique_ptr<ByteSource> source, bool allow_cut);
Result<KernelResults> ReadNcuResults(std::unique_ptr<ByteSource> source);
Result<KernelResults> ReadCsvResults(std::unique_ptr<ByteSource> source,
                                     const std::string& id_column);

// Returns whether a metric with that name and unit is a share, rate or setting rather than a sum.
MetricKind GuessKind(std::string_view name, std::string_view unit);

}  // namespace stemtap::formats
