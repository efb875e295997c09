// SPDX-License-Identifier: Apache-2.0
//
// The tools that a selection can be written for, and one function that writes it. What a tool cannot
// express is an error; nothing is selected besides, or left out.
//
// One file per tool: accelsim.cpp, macsim.cpp, windows.cpp (Sieve, NVBit), ncu.cpp, tables.cpp
// (csv, roaring), perfetto.cpp. How each counts: docs/formats/selections.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/exporters/counting.h"

namespace stemtap {

enum class NcuRuns {
  kAuto,     // by kernel where that is beyond doubt in every version of ncu, else by window
  kKernels,  // by kernel: ncu counts the launches of a name
  kWindows,  // by window of consecutive launches
};

enum class NcuNames { kGuess, kFunction, kDemangled, kMangled };

struct ExportOptions {
  CountingOptions counting;
  // An existing list of traces to take a part of (accelsim-kernelslist, macsim-config).
  std::string list;
  std::string list_name;
  std::string weights_name;  // file that the weights are written to besides; empty: none
  bool keep_copies = true;   // accelsim-kernelslist: keep the lines of memory copies
  NcuRuns ncu_runs = NcuRuns::kAuto;
  NcuNames ncu_names = NcuNames::kGuess;
  // perfetto: also show the launches that were not chosen, if there are no more than this.
  std::uint64_t timeline_launches = 100000;
  // The largest value of an environment variable or argument, in bytes.
  std::size_t most_value_bytes = 131050;
};

struct ExportedFile {
  std::string suffix;  // of the path asked for: "" for the only or main file
  std::string content;
};

struct Exported {
  std::vector<ExportedFile> files;
  std::uint64_t ids = 0;           // launches that the tool will select
  std::uint64_t runs = 1;          // of the program, to get them all; 0: none is needed
  std::vector<std::string> notes;  // one line each, what the user must know
};

struct ExportInput {
  const CountedPlan& counted;
  const ExportOptions& options;
  ProfileReader* profile = nullptr;  // perfetto: from its beginning
  std::string profile_name;
};

struct Consumer {
  std::string_view name;
  std::string_view tool;  // as messages call it
  std::string_view what;  // is written
  CountingModel model;
  std::string_view counts;  // which launch calls, for people
  std::string_view traps;
  bool needs_list;
  bool needs_timeline;  // the profile once more, in write
  Result<Exported> (*write)(const ExportInput& input);
};

std::span<const Consumer> Consumers();
// nullptr if there is none.
const Consumer* FindConsumer(std::string_view name);

// How the tool counts, and the first ids: what --explain prints.
std::string Explain(const Consumer& consumer, const CountedPlan& counted, std::size_t most = 8);

// Each id with the launch and weight behind it: header and one row per sample.
std::string WeightsCsv(const CountedPlan& counted);

// `text` as one word of a POSIX shell.
std::string ShellWord(std::string_view text);

// The writers. REQUIRES (all): counted by the model of that consumer.
Result<Exported> WriteAccelSim(const ExportInput& input);
Result<Exported> WriteAccelSimWindows(const ExportInput& input);
Result<Exported> WriteAccelSimList(const ExportInput& input);
Result<Exported> WriteMacSim(const ExportInput& input);
Result<Exported> WriteMacSimList(const ExportInput& input);
Result<Exported> WriteSieve(const ExportInput& input);
Result<Exported> WriteNvbit(const ExportInput& input);
Result<Exported> WriteNcu(const ExportInput& input);
Result<Exported> WriteSelectionCsv(const ExportInput& input);
Result<Exported> WriteRoaring(const ExportInput& input);
Result<Exported> WritePerfetto(const ExportInput& input);

}  // namespace stemtap
