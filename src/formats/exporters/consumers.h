// SPDX-License-Identifier: Apache-2.0
//
// Consumers are the tools that a selection can be written for. Each has one writer. If the tool
// cannot express the selection, the writer returns an error; it never adds or omits launches.
//
// The writers are in accelsim.cpp, macsim.cpp, ncu.cpp, perfetto.cpp and lists.cpp (csv, Sieve,
// NVBit). docs/formats/selections.md describes how each tool counts launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/exporters/counting.h"

namespace stemtap::formats {

enum class NcuRuns {
  kAuto,     // by kernel where every version of ncu reads that the same way, else by window
  kKernels,  // by kernel: ncu counts the launches of each kernel name
  kWindows,  // by window of consecutive launches
};

enum class NcuNames { kGuess, kFunction, kDemangled, kMangled };

struct ExportOptions {
  CountingOptions counting;
  // An existing list of traces to filter (accelsim-kernelslist, macsim-config).
  std::string list;
  std::string list_name;
  std::string weights_name;   // additional file with the weights; empty if none
  std::string plan = "PLAN";  // in commands, quoted for a shell
  bool keep_copies = true;    // accelsim-kernelslist: keep the lines of memory copies
  NcuRuns ncu_runs = NcuRuns::kAuto;
  NcuNames ncu_names = NcuNames::kGuess;
  // perfetto: also show launches that are not samples, if there are at most this many.
  std::uint64_t timeline_launches = 100000;
  // Maximum size of an environment variable or argument, in bytes.
  std::size_t max_value_bytes = 131050;
};

struct ExportedFile {
  std::string suffix;  // appended to the requested path; "" for the only or main file
  std::string content;
};

struct Exported {
  std::vector<ExportedFile> files;
  std::uint64_t ids = 0;           // launches that the tool will select
  std::uint64_t runs = 1;          // program runs needed to cover all launches; 0 if none is needed
  std::vector<std::string> notes;  // one line each; what the user must know
};

struct ExportInput {
  const CountedPlan& counted;
  const ExportOptions& options;
  model::ProfileReader* profile = nullptr;  // perfetto: positioned at its beginning
  std::string profile_name;
};

struct Consumer {
  std::string_view name;
  std::string_view tool;  // name of the tool in messages
  std::string_view what;  // what is written
  CountingModel model;
  std::string_view counts;  // which launches the tool counts, for help texts
  std::string_view traps;
  bool needs_list;
  bool needs_timeline;  // whether write reads the profile again
  Result<Exported> (*write)(const ExportInput& input);
};

std::span<const Consumer> Consumers();
// Returns nullptr if there is no consumer of that name.
const Consumer* FindConsumer(std::string_view name);

// Describes how the tool counts, followed by the first `max_ids` ids. --explain prints this.
std::string Explain(const Consumer& consumer, const CountedPlan& counted, std::size_t max_ids = 8);

// Returns a header and one row per sample: its id, launch and weight.
std::string WeightsCsv(const CountedPlan& counted);

// Returns the options of `stemtap extrapolate` for the reports of the script for ncu. By default,
// the reports of each device have their own name.
std::string NcuResultsOptions(const CountingOptions& counting);

// The writers. REQUIRES (all): `counted` was made with the counting model of that consumer.
Result<Exported> WriteAccelSim(const ExportInput& input);
Result<Exported> WriteAccelSimList(const ExportInput& input);
Result<Exported> WriteMacSim(const ExportInput& input);
Result<Exported> WriteMacSimList(const ExportInput& input);
Result<Exported> WriteSieve(const ExportInput& input);
Result<Exported> WriteNvbit(const ExportInput& input);
Result<Exported> WriteNcu(const ExportInput& input);
Result<Exported> WriteSelectionCsv(const ExportInput& input);
Result<Exported> WritePerfetto(const ExportInput& input);

// Functions that several writers share, for tools that trace one window per run and for lists that
// are filtered.

// Returns the beginning of the script: what it is and what it expects.
std::string ScriptHead(const std::string& purpose, const std::string& comment, std::size_t runs);

// Calls `line` with each line of `text`, without its line end, until it returns false. Rows count
// from 1.
void ForEachLine(std::string_view text,
                 const std::function<bool(std::size_t row, std::string_view line)>& line);

// Returns an error if an element of `ids` is not in `met`.
Status CheckAllMet(const std::vector<std::uint64_t>& ids,
                   const std::map<std::uint64_t, std::size_t>& met, const std::string& list_name);

}  // namespace stemtap::formats
