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
#include "formats/results/kernel_results.h"

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

class MacsimLog {
 public:
  explicit MacsimLog(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {
    results_.source = ResultsSource::kMacsim;
    results_.metrics = {{"cycles", "cycle", MetricKind::kSum}, {"insts", "", MetricKind::kSum}};
    results_.ratios = {{"ipc", "insts", "cycles"}};
  }

  Result<KernelResults> Read(bool allow_cut) {
    while (STEMTAP_TRY(lines_.Next())) {
      const std::string_view line = lines_.text();
      const std::size_t setup = line.find(kSetup);
      if (setup != std::string_view::npos) {
        STEMTAP_TRY(BeginKernel(line.substr(setup + kSetup.size())));
      } else if (line.starts_with("**Core ") && line.find(" Finished:") != std::string_view::npos) {
        STEMTAP_TRY(TakeFinished(line));
      }
    }
    if (begun_ == 0) {
      return Error{fmt::format("{}: no kernel was simulated; expected lines 'setup_process:...'",
                               lines_.name())};
    }
    if (begun_ < listed_ || finished_ == 0) {
      STEMTAP_TRY(DropCutKernel(allow_cut));
      return std::move(results_);
    }
    STEMTAP_TRY(EndKernel());
    if (short_cores_ > 0) {
      results_.warnings.push_back(fmt::format("{}; lines of warps are missing ({} such cores)",
                                              first_short_, short_cores_));
    }
    return std::move(results_);
  }

 private:
  static constexpr std::string_view kSetup = "setup_process:";

  // `setup`: the rest of the line after kSetup.
  Status BeginKernel(std::string_view setup) {
    STEMTAP_TRY(EndKernel());
    setup.remove_prefix(std::min(setup.find(' ') + 1, setup.size()));
    const std::optional<std::uint64_t> id =
        KernelInPath(setup.substr(0, setup.rfind(" current_index:")));
    const std::optional<std::uint64_t> index = NumberAfter(setup, " current_index:");
    const std::size_t open = setup.rfind('(');
    // Without a parenthesis, the search covers the whole text and finds nothing.
    const std::string_view last = setup.substr(open == std::string_view::npos ? 0 : open);
    const std::uint64_t total = NumberAfter(last, "(").value_or(0);
    if (!id || !index || total == 0) {
      return lines_.At(
          fmt::format("'{}'; expected '.../Kernel<N>/trace.txt current_index:<k> (<total>)'",
                      ShownCell(setup)));
    }
    if (*index != begun_ || *index >= total || (listed_ != 0 && total != listed_)) {
      return lines_.At(
          fmt::format("kernel {} of {} begins after {}; expected the log of one application from "
                      "its beginning",
                      *index, total, begun_));
    }
    listed_ = total;
    ++begun_;
    finished_ = 0;
    KernelResult row;
    row.id = *id;
    row.where = lines_.Where();
    results_.rows.push_back(std::move(row));
    return Success{};
  }

  Status EndKernel() {
    if (begun_ == 0) return Success{};
    KernelResult& kernel = results_.rows.back();
    if (finished_ == 0) {
      return Error{
          fmt::format("{}: no warp of Kernel{} finished; expected lines '**Core ... Finished:' "
                      "(print_heartbeat on, NO_REPORT unset)",
                      kernel.where, kernel.id)};
    }
    kernel.values = {static_cast<double>(cycles_ - cycles_before_), insts_};
    cycles_before_ = cycles_;
    insts_ = 0.0;
    return Success{};
  }

  // A line of a warp, or the total of a core.
  Status TakeFinished(std::string_view line) {
    const std::optional<std::uint64_t> core = NumberAfter(line, "**Core ");
    const std::optional<std::uint64_t> insts = NumberAfter(line, "insts:");
    const std::optional<std::uint64_t> cycles = NumberAfter(line, "cycles:");
    if (!core || !insts || !cycles) {
      return lines_.At(
          fmt::format("'{}'; expected '**Core <n> Thread <n> Finished:   insts:<n>  cycles:<n>'",
                      ShownCell(line)));
    }
    if (begun_ == 0) {
      return lines_.At(
          "a warp finished before any kernel began; expected the log from its beginning, with a "
          "line 'setup_process:'");
    }
    double& core_insts = insts_by_core_[*core];
    if (line.find(" Core_Total ") != std::string_view::npos) {
      if (static_cast<double>(*insts) > core_insts && short_cores_++ == 0) {
        first_short_ = fmt::format("{}: core {} counted {} instructions, but its warps {}",
                                   lines_.Where(), *core, *insts, core_insts);
      }
      return Success{};
    }
    ++finished_;
    cycles_ = std::max(cycles_, *cycles);
    insts_ += static_cast<double>(*insts);
    core_insts += static_cast<double>(*insts);
    return Success{};
  }

  // Removes the last kernel, which is incomplete, or returns an error.
  Status DropCutKernel(bool allow_cut) {
    const std::string where = fmt::format("{}:{}", lines_.name(), lines_.number() - 1);
    const std::string what = fmt::format(
        "the log ends after {} of {} kernels, and the last is incomplete", begun_, listed_);
    if (!allow_cut) {
      return Error{fmt::format(
          "{}: {}; expected all (--allow-cut accepts the kernels before the last)", where, what)};
    }
    results_.warnings.push_back(
        fmt::format("{}: {}: Kernel{} is skipped", where, what, results_.rows.back().id));
    results_.rows.pop_back();
    return Success{};
  }

  LineReader lines_;
  KernelResults results_;
  std::uint64_t begun_ = 0;   // kernels
  std::uint64_t listed_ = 0;  // kernels of the application
  // The current kernel: its warps, and their instructions.
  std::uint64_t finished_ = 0;
  double insts_ = 0.0;
  std::uint64_t cycles_ = 0;  // maximum so far
  std::uint64_t cycles_before_ = 0;
  std::unordered_map<std::uint64_t, double> insts_by_core_;  // of all kernels
  // Cores whose total is larger than the sum of their warps.
  std::uint64_t short_cores_ = 0;
  std::string first_short_;
};

}  // namespace

Result<KernelResults> ReadMacsimLog(std::unique_ptr<ByteSource> source, bool allow_cut) {
  return MacsimLog(std::move(source)).Read(allow_cut);
}

}  // namespace stemtap::formats
