// SPDX-License-Identifier: Apache-2.0
#include "formats/exporters/consumers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace stemtap::formats {
namespace {

constexpr std::uint64_t kInt32 = std::numeric_limits<std::int32_t>::max();

constexpr CountingModel kFromNothing = {CountScope::kNone, 0, true, 0};

constexpr std::array<Consumer, 9> kConsumers = {{
    {"accelsim",
     "the Accel-Sim tracer",
     "DYNAMIC_KERNEL_RANGE, for a tracer of 2025-05 or later",
     {CountScope::kContext, 1, false, kInt32},
     "cuLaunch, cuLaunchGrid, cuLaunchKernel, cuLaunchKernelEx, cuLaunchCooperativeKernel and "
     "cuGraphAddKernelNode",
     "one setting applies to every context and every process, and consecutive numbers of several "
     "contexts take two runs; a capture into a graph counts once, and its replays do not count; "
     "memory copies do not count",
     false,
     false,
     WriteAccelSim},
    {"accelsim-kernelslist",
     "the Accel-Sim trace list",
     "the planned part of an existing kernelslist.g (--list)",
     {CountScope::kContext, 1, false, kInt32},
     "as the tracer that wrote the traces did: the numbers are in their file names",
     "the simulator's uid is the position in the list, from 1, not this number",
     true,
     false,
     WriteAccelSimList},
    {"macsim",
     "the MacSim tracer",
     "a SAMPLED_KERNEL_INFO file",
     {CountScope::kProcess, 0, false, kInt32},
     "cuLaunchKernel and, in recent versions, cuLaunchKernelEx",
     "an empty list traces everything; KERNEL_BEGIN and KERNEL_END must be unset; cooperative "
     "launches and graphs are not counted",
     false,
     false,
     WriteMacSim},
    {"macsim-config",
     "the MacSim trace list",
     "the planned part of an existing kernel_config.txt (--list)",
     {CountScope::kProcess, 0, false, kInt32},
     "as the tracer that wrote the traces did: the numbers are in the names of their Kernel "
     "directories",
     "the file must be in the directory of the original list",
     true,
     false,
     WriteMacSimList},
    {"sieve",
     "the Sieve tracer",
     "ids.txt",
     {CountScope::kProcess, 0, false, kInt32 - 1},
     "cuLaunchKernel",
     "read as ids.txt in the working directory; without this file, the tracer ends the program",
     false,
     false,
     WriteSieve},
    {"nvbit",
     "a sample tool of NVBit",
     "START_GRID_NUM and END_GRID_NUM, one run per window",
     {CountScope::kProcess, 0, false, kInt32 - 1},
     "cuLaunch, cuLaunchGrid, cuLaunchKernel and, in recent versions, cuLaunchKernelEx",
     "one window per run; the tool must start active (ACTIVE_FROM_START unset or 1)",
     false,
     false,
     WriteNvbit},
    {"ncu",
     "Nsight Compute",
     "a script of profiling runs, and their options as response files",
     {CountScope::kProcess, 0, true, 0},
     "every kernel, including each kernel of a graph (--graph-profiling node, the default)",
     "--launch-skip counts all launches from 0; --kernel-id counts the launches of one name from "
     "1, and versions differ in which launches share a name",
     false,
     false,
     WriteNcu},
    {"csv", "any tool", "a table of the samples", kFromNothing, "nothing: index is the plan's", "",
     false, false, WriteSelectionCsv},
    {"perfetto", "Perfetto", "a timeline that shows the samples, in Chrome's JSON trace format",
     kFromNothing, "nothing: launches are shown where they ran", "", false, true, WritePerfetto},
}};

std::string_view ScopeText(CountScope scope) {
  switch (scope) {
    case CountScope::kProcess:
      return "the process, over all its devices";
    case CountScope::kContext:
      return "each CUDA context, one per device";
    case CountScope::kNone:
      break;
  }
  return "the profile";
}

}  // namespace

std::span<const Consumer> Consumers() {
  return kConsumers;
}

const Consumer* FindConsumer(std::string_view name) {
  const auto* at = std::find_if(kConsumers.begin(), kConsumers.end(),
                                [&](const Consumer& c) { return c.name == name; });
  return at == kConsumers.end() ? nullptr : at;
}

std::string Explain(const Consumer& consumer, const CountedPlan& counted, std::size_t max_ids) {
  std::string text = fmt::format("{}: {}\n", consumer.name, consumer.what);
  fmt::format_to(std::back_inserter(text), "  counts    {}\n", consumer.counts);
  if (consumer.model.scope != CountScope::kNone) {
    fmt::format_to(std::back_inserter(text), "  from      {}, in {}\n", consumer.model.base,
                   ScopeText(consumer.model.scope));
    fmt::format_to(std::back_inserter(text), "  graphs    {}\n",
                   consumer.model.graph_kernels ? "every kernel of every replay counts"
                                                : "replays do not count");
  }
  if (!consumer.traps.empty()) {
    fmt::format_to(std::back_inserter(text), "  note      {}\n", consumer.traps);
  }
  fmt::format_to(std::back_inserter(text), "  computed  from {}\n",
                 counted.from_profile
                     ? "the launches of the profile"
                     : "the plan alone (--plain-launches, or the tool does not count)");
  if (counted.from_profile) {
    fmt::format_to(std::back_inserter(text), "  launches  ");
    const char* between = "";
    for (const auto& [device, launches] : counted.devices) {
      fmt::format_to(std::back_inserter(text), "{}{} on device {}", between, launches,
                     DeviceName(device));
      between = ", ";
    }
    fmt::format_to(std::back_inserter(text), "; {} of graphs\n",
                   Plural(counted.graph_kernels, "kernel"));
  }
  fmt::format_to(std::back_inserter(text), "\n{:>12} {:>7} {:>12}  kernel\n", "index", "device",
                 "id");
  for (std::size_t i = 0; i < std::min(max_ids, counted.samples.size()); ++i) {
    const CountedSample& s = counted.samples[i];
    const std::string& name = s.planned_name();
    const std::string cut = name.size() <= 60 ? name : name.substr(0, 57) + "...";
    fmt::format_to(std::back_inserter(text), "{:>12} {:>7} {:>12}  {}\n", s.sample->index,
                   DeviceName(s.device),
                   consumer.model.scope == CountScope::kNone ? s.sample->index : s.id,
                   EscapeForTerminal(cut));
  }
  if (counted.samples.size() > max_ids) {
    fmt::format_to(std::back_inserter(text), "{:>12} and {} more\n", "...",
                   counted.samples.size() - max_ids);
  }
  return text;
}

std::string ScriptHead(const std::string& purpose, const std::string& comment, std::size_t runs) {
  return fmt::format(
      "#!/bin/sh\n"
      "# {} runs of a program for {}, by stemtap. Use: sh FILE PROGRAM [ARGUMENT...]\n"
      "{}"
      "# Every run must launch the same kernels in the same order. Stops at the first failed run.\n"
      "set -e\n"
      "if [ $# -eq 0 ]; then\n"
      "  echo \"usage: sh $0 PROGRAM [ARGUMENT...]\" >&2\n"
      "  exit 2\n"
      "fi\n",
      runs, purpose, comment);
}

void ForEachLine(std::string_view text,
                 const std::function<bool(std::size_t row, std::string_view line)>& line) {
  for (std::size_t row = 1; !text.empty(); ++row) {
    const std::size_t end = text.find('\n');
    std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!one.empty() && one.back() == '\r') one.remove_suffix(1);
    if (!line(row, one)) return;
  }
}

Status CheckAllMet(const std::vector<std::uint64_t>& ids,
                   const std::map<std::uint64_t, std::size_t>& met, const std::string& list_name) {
  if (met.size() == ids.size()) return Success{};
  for (const std::uint64_t id : ids) {
    if (!met.contains(id)) {
      return Error{
          fmt::format("{}: does not contain kernel {} and {} more of the plan; expected all {}",
                      list_name, id, ids.size() - met.size() - 1, ids.size())};
    }
  }
  return Success{};
}

}  // namespace stemtap::formats
