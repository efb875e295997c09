// SPDX-License-Identifier: Apache-2.0
//
// What a simulator or counter tool reports about the kernels that it ran, and how it is read. Ids
// are the consumer's own; match.h finds the plan's samples. docs/formats/results.md lists what is
// read from each source.
//
// UNITS: the consumer's units; a missing value is NaN.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"
#include "shm/context_key.h"

namespace stemtap::formats {

enum class ResultsSource { kAccelsim, kMacsim, kNcu, kCsv };

// Returns "accelsim", "macsim", "ncu" or "csv".
constexpr const char* NameOf(ResultsSource source) {
  constexpr std::array<const char*, 4> kNames = {"accelsim", "macsim", "ncu", "csv"};
  return kNames[static_cast<std::size_t>(source)];
}

// How the values of a metric for single kernels combine into a value for the run.
enum class MetricKind {
  kSum,   // additive: cycles, instructions, bytes
  kMean,  // a share, rate or setting: averaged over native time
};

struct ResultMetric {
  std::string name;
  std::string unit;  // empty if unknown
  MetricKind kind = MetricKind::kSum;
};

// A metric that is the ratio of two totals, for example instructions per cycle.
struct ResultRatio {
  std::string name;
  std::string numerator;
  std::string denominator;
};

struct KernelResult {
  std::uint64_t id = 0;
  std::string name;               // empty if not reported
  shm::LaunchConfig config = {};  // grid and block are 0 if not reported
  std::string where;              // file:line
  std::vector<double> values;     // by metric; missing trailing values are NaN
};

// KernelResults has one row per kernel, and one value per metric.
struct KernelResults {
  ResultsSource source = ResultsSource::kCsv;
  std::vector<ResultMetric> metrics;
  std::vector<ResultRatio> ratios;  // implied by the source
  std::vector<KernelResult> rows;   // in source order
  std::vector<std::string> warnings;
};

struct ResultsOptions {
  std::optional<ResultsSource> source;  // nullopt: detected by content
  std::string id_column;                // of a CSV; empty: the first of index, id, kernel_id, ID
  bool allow_cut = false;               // read the complete part of a log that ends early
};

// Detects the source from the leading bytes of a file.
std::optional<ResultsSource> DetectResults(std::string_view leading);

// Reads one file. The name of `source` is the name of the text in errors.
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
