// SPDX-License-Identifier: Apache-2.0
#include "analysis/alignment/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/alignment/sequence.h"
#include "shm/context_key.h"
#include "shm/record.h"

namespace stemtap::analysis {
namespace {

constexpr std::size_t kMaxLaunches = 0x7FFFFFFEu;

// Above this number of streams on a device, streams are paired by order of first use only.
// Comparing all pairs costs this many lookups per distinct configuration and stream: seconds for
// millions of distinct launches.
constexpr std::size_t kMaxStreamsCompared = 128;

using Line = std::vector<std::uint32_t>;  // launch indices, ascending

struct Known {
  bool device = true;
  bool stream = true;
  bool shape = true;
  bool shared = true;
};

void Note(const Run& run, Known& known) {
  for (const RunLaunch& launch : run.launches) {
    known.device &= launch.device != shm::kUnknown16;
    known.stream &= launch.stream != shm::kUnknown32;
    known.shape &= launch.grid[0] != shm::kUnknownExtent && launch.block[0] != shm::kUnknownExtent;
    known.shared &= launch.shared_bytes != shm::kUnknown32;
  }
}

// CommonNames numbers the names of both runs together.
struct CommonNames {
  std::vector<std::uint32_t> of_a;  // indexed by the run's name id
  std::vector<std::uint32_t> of_b;
  model::NameTable names;
  bool cut = false;
};

CommonNames JoinNames(const Run& a, const Run& b) {
  const auto join = [&](bool cut) {
    CommonNames common;
    common.cut = cut;
    const auto number = [&](const model::NameTable& names, std::vector<std::uint32_t>& of) {
      for (std::uint32_t id = 0; id < names.size(); ++id) {
        of.push_back(common.names.Intern(cut ? ComparableName(names.name(id)) : names.name(id)));
      }
    };
    number(a.names, common.of_a);
    number(b.names, common.of_b);
    return common;
  };
  CommonNames whole = join(false);
  if (whole.names.size() < a.names.size() + b.names.size()) return whole;  // some names are common
  CommonNames cut = join(true);
  const std::set<std::uint32_t> in_a(cut.of_a.begin(), cut.of_a.end());
  const bool helps = std::any_of(cut.of_b.begin(), cut.of_b.end(),
                                 [&](std::uint32_t name) { return in_a.contains(name); });
  return helps ? std::move(cut) : std::move(whole);
}

// Symbols assigns the same number to launches that are equal in all compared properties.
class Symbols {
 public:
  Symbols(const CommonNames& names, const Known& known) : names_(names), known_(known) {}

  std::vector<std::uint32_t> Of(const Run& run, const std::vector<std::uint32_t>& name_of) {
    std::vector<std::uint32_t> symbols;
    symbols.reserve(run.launches.size());
    for (const RunLaunch& launch : run.launches) {
      shm::LaunchConfig config = {};
      if (known_.shape) {
        std::copy_n(launch.grid, 3, config.grid);
        std::copy_n(launch.block, 3, config.block);
      }
      const std::uint64_t key =
          shm::MixKeys(shm::ConfigKey(names_.names.hash(name_of[launch.name_id]), config),
                       known_.shared ? launch.shared_bytes : 0);
      symbols.push_back(ids_.emplace(key, static_cast<std::uint32_t>(ids_.size())).first->second);
    }
    return symbols;
  }

  std::size_t size() const { return ids_.size(); }

 private:
  const CommonNames& names_;
  const Known& known_;
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
};

struct Side {
  const Run& run;
  std::vector<std::uint32_t> symbols;
  std::vector<std::uint32_t>& partner;
};

std::vector<std::uint32_t> SymbolsOf(const Side& side, const Line& line) {
  std::vector<std::uint32_t> symbols;
  symbols.reserve(line.size());
  for (const std::uint32_t index : line) symbols.push_back(side.symbols[index]);
  return symbols;
}

// Splits the launches of a line by stream, in order of first use.
std::vector<Line> ByStream(const Run& run, const Line& line) {
  std::unordered_map<std::uint32_t, std::size_t> place;
  std::vector<Line> streams;
  for (const std::uint32_t index : line) {
    const auto [at, added] = place.emplace(run.launches[index].stream, streams.size());
    if (added) streams.emplace_back();
    streams[at->second].push_back(index);
  }
  return streams;
}

// StreamMaps maps the streams of both runs to each other one to one, based on the launches seen so
// far.
class StreamMaps {
 public:
  // Returns false if the pair contradicts an earlier pair.
  bool Agree(std::uint32_t in_a, std::uint32_t in_b) {
    return b_of_.emplace(in_a, in_b).first->second == in_b &&
           a_of_.emplace(in_b, in_a).first->second == in_a;
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> b_of_, a_of_;
};

// Returns whether both lines contain the same launches in the same order and, if `streams` is set,
// on streams that correspond one to one.
bool SameOrder(const Side& a, const Side& b, const Line& line_a, const Line& line_b, bool streams) {
  if (line_a.size() != line_b.size()) return false;
  StreamMaps maps;
  for (std::size_t i = 0; i < line_a.size(); ++i) {
    if (a.symbols[line_a[i]] != b.symbols[line_b[i]]) return false;
    if (streams &&
        !maps.Agree(a.run.launches[line_a[i]].stream, b.run.launches[line_b[i]].stream)) {
      return false;
    }
  }
  return true;
}

// Returns the number of launches that each stream of a and each stream of b have in common, in any
// order.
std::vector<std::vector<std::uint64_t>> Common(const Side& a, const Side& b,
                                               const std::vector<Line>& streams_a,
                                               const std::vector<Line>& streams_b) {
  using Counts = std::unordered_map<std::uint32_t, std::uint64_t>;
  const auto count = [](const Side& side, const Line& line) {
    Counts counts;
    for (const std::uint32_t index : line) ++counts[side.symbols[index]];
    return counts;
  };
  std::vector<Counts> counts_b;
  for (const Line& line : streams_b) counts_b.push_back(count(b, line));
  std::vector<std::vector<std::uint64_t>> common;
  for (const Line& line : streams_a) {
    const Counts counts_a = count(a, line);
    std::vector<std::uint64_t>& row = common.emplace_back();
    for (const Counts& other : counts_b) {
      std::uint64_t both = 0;
      for (const auto& [symbol, n] : counts_a) {
        const auto at = other.find(symbol);
        if (at != other.end()) both += std::min(n, at->second);
      }
      row.push_back(both);
    }
  }
  return common;
}

// Pairs streams: first the streams with the same launches in the same order, then those with the
// most launches in common, then by order of first use. Returns indices into streams_a and
// streams_b.
std::vector<std::pair<std::size_t, std::size_t>> PairStreams(const Side& a, const Side& b,
                                                             const std::vector<Line>& streams_a,
                                                             const std::vector<Line>& streams_b) {
  struct Candidate {
    bool same = false;
    std::uint64_t common = 0;
    std::size_t at_a = 0;
    std::size_t at_b = 0;
  };
  const std::size_t count = std::min(streams_a.size(), streams_b.size());
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  if (streams_a.size() > kMaxStreamsCompared || streams_b.size() > kMaxStreamsCompared) {
    for (std::size_t i = 0; i < count; ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  const auto common = Common(a, b, streams_a, streams_b);
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < streams_a.size(); ++i) {
    for (std::size_t j = 0; j < streams_b.size(); ++j) {
      const bool full = common[i][j] == streams_a[i].size();
      candidates.push_back(
          {full && SameOrder(a, b, streams_a[i], streams_b[j], false), common[i][j], i, j});
    }
  }
  // Stable, so that ties stay in order of first use.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) {
                     return x.same != y.same ? x.same : x.common > y.common;
                   });
  std::vector<char> used_a(streams_a.size(), 0), used_b(streams_b.size(), 0);
  for (const Candidate& candidate : candidates) {
    if (used_a[candidate.at_a] || used_b[candidate.at_b]) continue;
    used_a[candidate.at_a] = used_b[candidate.at_b] = 1;
    pairs.emplace_back(candidate.at_a, candidate.at_b);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<SequencePair> AlignLines(const Side& a, const Side& b, const Line& line_a,
                                     const Line& line_b, std::size_t symbols) {
  std::vector<SequencePair> pairs =
      AlignSequences(SymbolsOf(a, line_a), SymbolsOf(b, line_b), symbols);
  for (SequencePair& pair : pairs) pair = {line_a[pair.a], line_b[pair.b]};
  return pairs;
}

// Returns the first position where the launches of two lines are not partners or, if `streams` is
// set, are on streams that do not correspond.
std::pair<std::size_t, std::size_t> FirstParting(const Side& a, const Side& b, const Line& line_a,
                                                 const Line& line_b, bool streams) {
  StreamMaps maps;
  std::size_t at = 0;
  for (; at < line_a.size() && at < line_b.size(); ++at) {
    if (a.partner[line_a[at]] != line_b[at]) break;
    if (streams &&
        !maps.Agree(a.run.launches[line_a[at]].stream, b.run.launches[line_b[at]].stream)) {
      break;
    }
  }
  return {at, at};
}

class DevicePair {
 public:
  DevicePair(Side& a, Side& b, Line line_a, Line line_b, std::size_t symbols, bool streams_known)
      : a_(a),
        b_(b),
        line_a_(std::move(line_a)),
        line_b_(std::move(line_b)),
        symbols_(symbols),
        streams_known_(streams_known) {}

  void Align(DeviceAlignment& device) {
    device.launches_a = line_a_.size();
    device.launches_b = line_b_.size();
    if (SameOrder(a_, b_, line_a_, line_b_, streams_known_)) {
      for (std::size_t i = 0; i < line_a_.size(); ++i) Pair(line_a_[i], line_b_[i]);
      device.paired = line_a_.size();
      return;
    }
    std::vector<SequencePair> pairs;
    std::vector<Line> streams_a, streams_b;
    std::vector<std::pair<std::size_t, std::size_t>> stream_pairs;
    if (streams_known_) {
      streams_a = ByStream(a_.run, line_a_);
      streams_b = ByStream(b_.run, line_b_);
      device.by_stream = streams_a.size() > 1 || streams_b.size() > 1;
    }
    if (device.by_stream) {
      stream_pairs = PairStreams(a_, b_, streams_a, streams_b);
      for (const auto& [at_a, at_b] : stream_pairs) {
        const auto found = AlignLines(a_, b_, streams_a[at_a], streams_b[at_b], symbols_);
        pairs.insert(pairs.end(), found.begin(), found.end());
      }
    }
    const bool all = pairs.size() == line_a_.size() && pairs.size() == line_b_.size();
    if (!all) {
      std::vector<SequencePair> whole = AlignLines(a_, b_, line_a_, line_b_, symbols_);
      if (!device.by_stream || whole.size() > pairs.size()) {
        pairs = std::move(whole);
        device.by_stream = false;
      }
    }
    for (const SequencePair& pair : pairs) Pair(pair.a, pair.b);
    device.paired = pairs.size();
    device.order = all && device.by_stream ? LaunchOrder::kInterleaved : LaunchOrder::kDifferent;
    if (device.order == LaunchOrder::kDifferent && device.by_stream) {
      ShowStream(device, streams_a, streams_b, stream_pairs);
    } else {
      Show(device, line_a_, line_b_);
    }
  }

 private:
  void Pair(std::uint32_t in_a, std::uint32_t in_b) {
    a_.partner[in_a] = in_b;
    b_.partner[in_b] = in_a;
  }

  void Show(DeviceAlignment& device, const Line& line_a, const Line& line_b) {
    device.line_a = line_a;
    device.line_b = line_b;
    std::tie(device.first_a, device.first_b) = FirstParting(a_, b_, line_a, line_b, streams_known_);
  }

  // Shows the stream whose difference is earliest in the run, including streams without a
  // counterpart.
  void ShowStream(DeviceAlignment& device, const std::vector<Line>& streams_a,
                  const std::vector<Line>& streams_b,
                  const std::vector<std::pair<std::size_t, std::size_t>>& stream_pairs) {
    const Line none;
    std::vector<std::pair<const Line*, const Line*>> lines;
    std::vector<char> used_a(streams_a.size(), 0), used_b(streams_b.size(), 0);
    for (const auto& [at_a, at_b] : stream_pairs) {
      lines.emplace_back(&streams_a[at_a], &streams_b[at_b]);
      used_a[at_a] = used_b[at_b] = 1;
    }
    for (std::size_t i = 0; i < streams_a.size(); ++i) {
      if (!used_a[i]) lines.emplace_back(&streams_a[i], &none);
    }
    for (std::size_t i = 0; i < streams_b.size(); ++i) {
      if (!used_b[i]) lines.emplace_back(&none, &streams_b[i]);
    }
    std::uint32_t earliest = kNoPartner;
    for (const auto& [in_a, in_b] : lines) {
      const std::size_t at = FirstParting(a_, b_, *in_a, *in_b, streams_known_).first;
      if (at >= in_a->size() && at >= in_b->size()) continue;
      const std::uint32_t index = std::min(at < in_a->size() ? (*in_a)[at] : kNoPartner,
                                           at < in_b->size() ? (*in_b)[at] : kNoPartner);
      if (index >= earliest) continue;
      earliest = index;
      Show(device, *in_a, *in_b);
    }
  }

  Side& a_;
  Side& b_;
  Line line_a_;
  Line line_b_;
  std::size_t symbols_;
  bool streams_known_;
};

std::map<std::uint16_t, Line> ByDevice(const Run& run, bool known) {
  std::map<std::uint16_t, Line> devices;
  for (std::uint32_t i = 0; i < run.launches.size(); ++i) {
    devices[known ? run.launches[i].device : shm::kUnknown16].push_back(i);
  }
  return devices;
}

// Pairs devices: in ascending order if both runs use equally many, otherwise by number.
std::vector<DeviceAlignment> PairDevices(const std::map<std::uint16_t, Line>& a,
                                         const std::map<std::uint16_t, Line>& b) {
  std::vector<DeviceAlignment> devices;
  if (a.size() == b.size()) {
    for (auto at_a = a.begin(), at_b = b.begin(); at_a != a.end(); ++at_a, ++at_b) {
      devices.emplace_back();
      devices.back().device_a = at_a->first;
      devices.back().device_b = at_b->first;
    }
    return devices;
  }
  std::set<std::uint16_t> numbers;
  for (const auto& [number, line] : a) numbers.insert(number);
  for (const auto& [number, line] : b) numbers.insert(number);
  for (const std::uint16_t number : numbers) {
    devices.emplace_back();
    devices.back().device_a = devices.back().device_b = number;
    devices.back().in_a = a.contains(number);
    devices.back().in_b = b.contains(number);
  }
  return devices;
}

// Adds the kernels of a device whose launch counts differ between the runs.
void CompareCounts(const Side& a, const Side& b, const CommonNames& names, const Line& line_a,
                   const Line& line_b, std::uint16_t device, std::vector<KernelCount>& differs) {
  std::unordered_map<std::uint32_t, KernelCount> counts;
  for (const std::uint32_t index : line_a) {
    const RunLaunch& launch = a.run.launches[index];
    KernelCount& count = counts[names.of_a[launch.name_id]];
    ++count.count_a;
    count.duration_a_ns += launch.duration_ns;
  }
  for (const std::uint32_t index : line_b) {
    const RunLaunch& launch = b.run.launches[index];
    KernelCount& count = counts[names.of_b[launch.name_id]];
    ++count.count_b;
    count.duration_b_ns += launch.duration_ns;
  }
  for (auto& [name, count] : counts) {
    if (count.count_a == count.count_b) continue;
    count.name = names.names.name(name);
    count.device = device;
    differs.push_back(std::move(count));
  }
}

}  // namespace

Result<Run> LoadRun(model::ProfileReader& reader, const std::string& source) {
  Run run;
  const auto add = [&](const shm::KernelRecord& record) -> Status {
    if (run.launches.size() == kMaxLaunches) {
      return Error{fmt::format("{}: too many launches; expected at most {}", source, kMaxLaunches)};
    }
    RunLaunch& launch = run.launches.emplace_back();
    launch.duration_ns = record.duration_ns;
    launch.name_id = record.name_id;
    launch.stream = record.stream;
    launch.shared_bytes = record.shared_bytes;
    launch.device = record.device;
    std::copy_n(record.grid, 3, launch.grid);
    std::copy_n(record.block, 3, launch.block);
    return Success{};
  };
  STEMTAP_TRY(model::ForEachLaunch(reader, add));
  // The reader keeps its name table. The ids stay valid, because both tables number names by first
  // appearance.
  const model::NameTable& names = reader.names();
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    run.names.Intern(names.name(id), names.process(id), names.range(id));
  }
  run.warnings = reader.warnings();
  return run;
}

std::string ComparableName(const std::string& name) {
  std::string_view rest = name;
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view mark : {std::string_view(" (.kd)"), std::string_view(".kd")}) {
      if (rest.size() > mark.size() && rest.ends_with(mark)) {
        rest.remove_suffix(mark.size());
        again = true;
      }
    }
    const std::size_t clone = rest.rfind(" [clone ");
    if (rest.ends_with(']') && clone != std::string_view::npos && clone > 0) {
      rest = rest.substr(0, clone);
      again = true;
    }
  }
  return std::string(rest);
}

Alignment AlignRuns(const Run& run_a, const Run& run_b) {
  Alignment result;
  Known known;
  Note(run_a, known);
  Note(run_b, known);
  if (!known.device) result.ignored.push_back("device");
  if (!known.stream) result.ignored.push_back("stream");
  if (!known.shape) result.ignored.push_back("grid and block");
  if (!known.shared) result.ignored.push_back("shared memory");
  const CommonNames names = JoinNames(run_a, run_b);
  result.names_cut = names.cut;
  result.kernels = names.names.size();
  result.partner_of_a.assign(run_a.launches.size(), kNoPartner);
  result.partner_of_b.assign(run_b.launches.size(), kNoPartner);
  Symbols symbols(names, known);
  Side a{run_a, symbols.Of(run_a, names.of_a), result.partner_of_a};
  Side b{run_b, symbols.Of(run_b, names.of_b), result.partner_of_b};
  const std::map<std::uint16_t, Line> devices_a = ByDevice(run_a, known.device);
  const std::map<std::uint16_t, Line> devices_b = ByDevice(run_b, known.device);
  result.devices = PairDevices(devices_a, devices_b);
  for (DeviceAlignment& device : result.devices) {
    const Line line_a = device.in_a ? devices_a.at(device.device_a) : Line();
    const Line line_b = device.in_b ? devices_b.at(device.device_b) : Line();
    CompareCounts(a, b, names, line_a, line_b, device.device_a, result.differs);
    DevicePair(a, b, line_a, line_b, symbols.size(), known.stream).Align(device);
    result.order = std::max(result.order, device.order);
    result.paired += device.paired;
  }
  result.only_in_a = run_a.launches.size() - result.paired;
  result.only_in_b = run_b.launches.size() - result.paired;
  std::sort(result.differs.begin(), result.differs.end(),
            [](const KernelCount& x, const KernelCount& y) {
              const std::uint64_t time_x = std::max(x.duration_a_ns, x.duration_b_ns);
              const std::uint64_t time_y = std::max(y.duration_a_ns, y.duration_b_ns);
              if (time_x != time_y) return time_x > time_y;
              return std::tie(x.name, x.device) < std::tie(y.name, y.device);
            });
  return result;
}

}  // namespace stemtap::analysis
