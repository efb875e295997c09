// SPDX-License-Identifier: Apache-2.0
//
// Reads the standard output of MacSim. Kernels run one after another:
//
//   ...:  setup_process:0 traces/Kernel7/trace.txt current_index:2 (12)      the 3rd of 12 begins
//   **Core 03 Thread 17 Finished:   insts:5120  cycles:90210 (90210)  ...    one line per warp
//   **Core 03 Core_Total  Finished:   insts:81920  cycles:90214 (90214)  ... one line per core,
//                                                                            at the end
//
// Cycles count from the start: a kernel's cycles are the maximum of its warps minus the maximum of
// the previous kernel. Instructions count per warp: a kernel's instructions are the sum over its
// warps. The kernel is KernelN of the path; its position in the list has no meaning.
// SOURCE: docs/formats/results.md.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/decimal.h"
#include "base/line_reader.h"
#include "base/text.h"
#include "formats/results/results_reader.h"

namespace stemtap::formats {
namespace {

// Parses the digits after `key`, skipping spaces in between.
std::optional<std::uint64_t> NumberAfter(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + key.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return WholeNumber(rest.substr(0, rest.find_first_not_of("0123456789")));
}

// Returns 7 for ".../Kernel7/trace.txt".
std::optional<std::uint64_t> KernelInPath(std::string_view path) {
  const std::size_t last = path.rfind('/');
  if (last == std::string_view::npos) return {};
  const std::string_view directory = path.substr(0, last);
  const std::size_t before = directory.rfind('/');
  const std::string_view name =
      before == std::string_view::npos ? directory : directory.substr(before + 1);
  constexpr std::string_view kKernel = "Kernel";
  if (!name.starts_with(kKernel)) return {};
  return WholeNumber(name.substr(kKernel.size()));
}

}  // namespace

Result<KernelResults> ReadMacsimLog(std::unique_ptr<ByteSource> source, bool allow_cut) {
  LineReader lines(std::move(source));
  KernelResults results;
  results.source = ResultsSource::kMacsim;
  results.metrics = {{"cycles", "cycle", MetricKind::kSum}, {"insts", "", MetricKind::kSum}};
  results.ratios = {{"ipc", "insts", "cycles"}};

  std::uint64_t cycles = 0;  // maximum so far
  std::uint64_t cycles_before = 0;
  double insts = 0.0;                                 // of the current kernel
  std::unordered_map<std::uint64_t, double> by_core;  // instructions of all kernels
  std::uint64_t short_cores = 0;  // cores whose total is larger than the sum of their warps
  std::string first_short;
  std::uint64_t finished = 0;  // warps of the current kernel
  std::uint64_t begun = 0;
  std::uint64_t listed = 0;
  std::string last_setup;

  const auto end_kernel = [&]() -> Status {
    if (begun == 0) return Success{};
    if (finished == 0) {
      return Error{
          fmt::format("{}: no warp of Kernel{} finished; expected lines '**Core ... Finished:' "
                      "(print_heartbeat on, NO_REPORT unset)",
                      last_setup, results.rows.back().id)};
    }
    results.rows.back().values = {static_cast<double>(cycles - cycles_before), insts};
    cycles_before = cycles;
    insts = 0.0;
    return Success{};
  };

  for (;;) {
    const bool more = STEMTAP_TRY(lines.Next());
    if (!more) break;
    const std::string_view line = lines.text();
    constexpr std::string_view kSetup = "setup_process:";
    const std::size_t setup = line.find(kSetup);
    if (setup != std::string_view::npos) {
      STEMTAP_TRY(end_kernel());
      std::string_view rest = line.substr(setup + kSetup.size());
      rest.remove_prefix(std::min(rest.find(' ') + 1, rest.size()));
      const std::size_t behind = rest.rfind(" current_index:");
      const std::optional<std::uint64_t> id = KernelInPath(rest.substr(0, behind));
      const std::optional<std::uint64_t> index = NumberAfter(line, " current_index:");
      const std::size_t open = line.rfind('(');
      // Without a parenthesis, the search covers the whole line and finds nothing.
      const std::string_view last = line.substr(open == std::string_view::npos ? 0 : open);
      const std::uint64_t total = NumberAfter(last, "(").value_or(0);
      if (!id || !index || total == 0) {
        return lines.At(
            fmt::format("'{}'; expected '.../Kernel<N>/trace.txt current_index:<k> (<total>)'",
                        ShownCell(rest)));
      }
      if (*index != begun || *index >= total || (listed != 0 && total != listed)) {
        return lines.At(
            fmt::format("kernel {} of {} begins after {}; expected the log of one application from "
                        "its beginning",
                        *index, total, begun));
      }
      listed = total;
      ++begun;
      finished = 0;
      last_setup = lines.Where();
      KernelResult row;
      row.id = *id;
      row.where = last_setup;
      results.rows.push_back(std::move(row));
      continue;
    }
    if (!line.starts_with("**Core ") || line.find(" Finished:") == std::string_view::npos) continue;
    const std::optional<std::uint64_t> core = NumberAfter(line, "**Core ");
    const std::optional<std::uint64_t> warp_insts = NumberAfter(line, "insts:");
    const std::optional<std::uint64_t> warp_cycles = NumberAfter(line, "cycles:");
    if (!core || !warp_insts || !warp_cycles) {
      return lines.At(
          fmt::format("'{}'; expected '**Core <n> Thread <n> Finished:   insts:<n>  cycles:<n>'",
                      ShownCell(line)));
    }
    if (begun == 0) {
      return lines.At(
          "a warp finished before any kernel began; expected the log from its beginning, with a "
          "line 'setup_process:'");
    }
    const auto line_insts = static_cast<double>(*warp_insts);
    if (line.find(" Core_Total ") != std::string_view::npos) {
      if (line_insts > by_core[*core] && short_cores++ == 0) {
        first_short = fmt::format("{}: core {} counted {} instructions, but its warps {}",
                                  lines.Where(), *core, *warp_insts, by_core[*core]);
      }
      continue;
    }
    ++finished;
    cycles = std::max(cycles, *warp_cycles);
    insts += line_insts;
    by_core[*core] += line_insts;
  }
  if (begun == 0) {
    return Error{fmt::format("{}: no kernel was simulated; expected lines 'setup_process:...'",
                             lines.name())};
  }
  if (begun < listed || finished == 0) {
    const std::string where = fmt::format("{}:{}", lines.name(), lines.number() - 1);
    const std::string what = fmt::format(
        "the log ends after {} of {} kernels, and the last is incomplete", begun, listed);
    if (!allow_cut) {
      return Error{fmt::format(
          "{}: {}; expected all (--allow-cut accepts the kernels before the last)", where, what)};
    }
    results.warnings.push_back(
        fmt::format("{}: {}: Kernel{} is skipped", where, what, results.rows.back().id));
    results.rows.pop_back();
    return results;
  }
  STEMTAP_TRY(end_kernel());
  if (short_cores > 0) {
    results.warnings.push_back(
        fmt::format("{}; lines of warps are missing ({} such cores)", first_short, short_cores));
  }
  return results;
}

}  // namespace stemtap::formats
