// SPDX-License-Identifier: Apache-2.0
//
// Writes selections for Accel-Sim's tracer and simulator. See docs/formats/accelsim.md.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"
#include "formats/exporters/consumers.h"

namespace stemtap::formats {
namespace {

std::string Token(const IdRange& range) {
  return range.first == range.last ? fmt::format("{}", range.first)
                                   : fmt::format("{}-{}", range.first, range.last);
}

// One setting applies to every context, so the tool also selects launches of other devices that
// have a planned number. Returns an error, or adds a note if the user selected one device.
Status CheckOtherContexts(const ExportInput& input, const std::vector<std::uint64_t>& ids,
                          std::vector<std::string>& notes) {
  const CountedPlan& counted = input.counted;
  std::map<std::uint16_t, std::vector<std::uint64_t>> planned;
  for (const CountedSample& s : counted.samples) planned[s.device].push_back(s.id);
  for (const auto& [device, launches] : counted.devices) {
    std::vector<std::uint64_t>& own = planned[device];
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    const auto selected = static_cast<std::uint64_t>(
        std::upper_bound(ids.begin(), ids.end(), launches) - ids.begin());
    if (selected == own.size()) continue;
    const std::uint64_t besides = selected - own.size();
    const std::optional<std::uint16_t>& chosen = input.options.counting.device;
    if (!chosen) {
      std::vector<std::uint16_t> sampled;
      for (const CountedSample& s : counted.samples) sampled.push_back(s.device);
      return Error{fmt::format(
          "DYNAMIC_KERNEL_RANGE applies to every device and would also trace {} launches of device "
          "{} that are not in the plan; export one device after another with {}",
          besides, DeviceName(device), DeviceChoices(sampled))};
    }
    notes.push_back(
        fmt::format("the setting applies to every device: {} launches of device {} will be traced "
                    "too; use only the traces of device {}",
                    besides, DeviceName(device), *chosen));
  }
  return Success{};
}

bool HasProcessOfSeveralDevices(const ExportInput& input) {
  const CountingOptions& counting = input.options.counting;
  return input.counted.devices.size() > counting.ranks &&
         counting.processes != Processes::kPerDevice;
}

// The ids of each setting. The tracer has one switch for all contexts: it stays on between two
// consecutive numbers of a context and traces what other contexts launch in between. If a process
// has several contexts, no setting contains two consecutive numbers.
std::vector<std::vector<std::uint64_t>> Settings(const ExportInput& input,
                                                 const std::vector<std::uint64_t>& ids) {
  if (!HasProcessOfSeveralDevices(input)) return {ids};
  std::vector<std::vector<std::uint64_t>> settings(2);
  for (const IdRange& range : Ranges(ids)) {
    for (std::uint64_t id = range.first; id <= range.last; ++id) {
      settings[(id - range.first) % 2].push_back(id);
    }
  }
  if (settings.back().empty()) settings.pop_back();
  return settings;
}

// One line of a list of traces.
struct TraceLine {
  bool is_kernel = false;
  std::uint64_t id = 0;
  std::string_view context;  // hexadecimal; empty in older versions
};

// Parses "kernel-7.traceg" or "kernel-7-ctx_0x1f.traceg.xz"; returns false for anything else.
bool ParseTraceName(std::string_view line, TraceLine& parsed) {
  constexpr std::string_view kKernel = "kernel-";
  constexpr std::string_view kContext = "-ctx_0x";
  if (line.substr(0, kKernel.size()) != kKernel) return false;
  line.remove_prefix(kKernel.size());
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), parsed.id);
  if (error != std::errc() || parsed.id == 0) return false;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (line.substr(0, kContext.size()) == kContext) {
    line.remove_prefix(kContext.size());
    const std::size_t digits = line.find_first_not_of("0123456789abcdefABCDEF");
    if (digits == 0 || digits == std::string_view::npos) return false;
    parsed.context = line.substr(0, digits);
    line.remove_prefix(digits);
  }
  parsed.is_kernel = true;
  return line == ".traceg" || line == ".traceg.xz" || line == ".tracez" || line == ".trace" ||
         line == ".trace.xz";
}

}  // namespace

Result<Exported> WriteAccelSim(const ExportInput& input) {
  const std::vector<std::uint64_t> ids = Ids(input.counted);
  Exported exported;
  exported.ids = ids.size();
  STEMTAP_TRY(CheckOtherContexts(input, ids, exported.notes));
  std::vector<std::string> values;
  const std::vector<std::vector<std::uint64_t>> settings = Settings(input, ids);
  for (const std::vector<std::uint64_t>& setting : settings) {
    bool fresh = true;
    for (const IdRange& range : Ranges(setting)) {
      const std::string token = Token(range);
      if (fresh || values.back().size() + 1 + token.size() > input.options.max_value_bytes) {
        values.push_back(token);
      } else {
        values.back() += " " + token;
      }
      fresh = false;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string text = fmt::format(
        "# Launches to trace with Accel-Sim, {} of {}, by stemtap. Read it into a shell: . ./FILE\n"
        "# TERMINATE_UPON_LIMIT=1 would end the program after the last of these launches.\n",
        i + 1, values.size());
    for (const std::string& note : exported.notes) text += "# " + note + "\n";
    text += "export DYNAMIC_KERNEL_RANGE=\"" + values[i] + "\"\n";
    exported.files.push_back(
        {values.size() == 1 ? std::string() : fmt::format(".{}", i + 1), std::move(text)});
  }
  exported.runs = values.size();
  if (settings.size() > 1) {
    exported.notes.push_back(
        "consecutive numbers are in different settings: the tracer would also trace what other "
        "contexts launch between them");
  }
  if (values.size() > settings.size()) {
    exported.notes.push_back(
        fmt::format("{} settings, one for each run: a single setting would be longer than {} "
                    "bytes, the maximum of an environment variable",
                    values.size(), input.options.max_value_bytes));
  }
  return exported;
}

Result<Exported> WriteAccelSimList(const ExportInput& input) {
  const std::vector<std::uint64_t> ids = Ids(input.counted);
  if (input.counted.devices.size() > 1 && !input.options.counting.device) {
    return Error{fmt::format(
        "{}: a list covers one context, but the plan's run used {} devices; expected --device N",
        input.options.list_name, input.counted.devices.size())};
  }
  Exported exported;
  exported.ids = ids.size();
  exported.runs = 0;
  std::string text;
  std::map<std::uint64_t, std::size_t> met;  // id -> row
  std::string_view context;
  bool any = false;
  std::string failure;
  ForEachLine(input.options.list, [&](std::size_t row, std::string_view line) {
    const auto fail = [&](const std::string& what) {
      failure = fmt::format("{}:{}: {}", input.options.list_name, row, what);
      return false;
    };
    if (line.substr(0, 6) == "Memcpy") {
      if (input.options.keep_copies) text.append(line).append("\n");
      return true;
    }
    if (line.empty()) return true;
    TraceLine parsed;
    if (!ParseTraceName(line, parsed)) {
      // The simulator skips lines that do not start with "kernel".
      if (line.substr(0, 6) != "kernel") return true;
      return fail(fmt::format("'{}'; expected a trace such as kernel-N.traceg",
                              EscapeForTerminal(line.substr(0, 80))));
    }
    if (any && parsed.context != context) {
      return fail("a kernel of another context; expected a list of one context");
    }
    any = true;
    context = parsed.context;
    if (!std::binary_search(ids.begin(), ids.end(), parsed.id)) return true;
    const auto [at, fresh] = met.emplace(parsed.id, row);
    if (!fresh) {
      return fail(fmt::format("kernel {} is also in row {}; expected each kernel once", parsed.id,
                              at->second));
    }
    text.append(line).append("\n");
    return true;
  });
  if (!failure.empty()) return Error{failure};
  STEMTAP_TRY(CheckAllMet(ids, met, input.options.list_name));
  exported.files.push_back({"", std::move(text)});
  exported.notes.push_back("put the new list into the directory of the original list");
  return exported;
}

}  // namespace stemtap::formats
