// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/basic_block_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/line_reader.h"
#include "base/text.h"

namespace stemtap::research {
namespace {

constexpr std::string_view kHeader = "index,warps,instructions,blocks";
constexpr std::string_view kPhotonHeader = "Warp ID,Basic Block Counts";

// Maximum row length; 64 MiB list about four million blocks.
constexpr std::size_t kMaxRowBytes = std::size_t{64} * 1024 * 1024;

// More than any grid has (2^31 blocks of 32 warps are 2^36), and small enough that the sum over the
// kinds of a launch does not overflow.
constexpr std::uint64_t kMaxWarps = std::uint64_t{1} << 40;

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Removes and returns the part of `text` before `separator`.
std::string_view TakeUntil(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

std::string Shown(std::string_view text) {
  constexpr std::size_t kMax = 60;
  return EscapeForTerminal(text.substr(0, kMax)) + (text.size() > kMax ? "..." : "");
}

class Reader {
 public:
  explicit Reader(std::unique_ptr<ByteSource> source)
      : lines_(LimitUnpacking(std::move(source)), kMaxRowBytes) {}

  Result<BasicBlockVectors> Read() {
    auto more = lines_.Next();
    if (!more) return more.error();
    const std::string_view line = lines_.text();
    const bool photon = line == kPhotonHeader;
    if (!more.value() || (!photon && line != kHeader)) {
      return lines_.At(fmt::format("'{}'; expected the header '{}' or Photon's, '{}'", Shown(line),
                                   kHeader, kPhotonHeader));
    }
    if (!lines_.ended()) return Cut();
    if (photon) return ReadPhoton();
    while (true) {
      more = lines_.Next();
      if (!more) return more.error();
      if (!more.value()) return std::move(result_);
      if (lines_.text().empty()) continue;
      const Status row = AddRow(lines_.text());
      if (!row) return row.error();
      if (!lines_.ended()) return Cut();
    }
  }

 private:
  // Tools write these files and end every row; without a line end, a count may lack its last
  // digits.
  Error Cut() const {
    return lines_.At("no line end after the last row; expected a complete file");
  }

  Status AddRow(std::string_view line) {
    std::array<std::string_view, 3> cells;
    std::string_view rest = line;
    for (std::string_view& cell : cells) {
      if (rest.find(',') == std::string_view::npos) {
        return lines_.At(fmt::format("'{}'; expected {}", Shown(line), kHeader));
      }
      cell = TakeUntil(rest, ',');
    }
    std::uint64_t index = 0;
    WarpKind kind;
    if (!Parse(cells[0], index)) {
      return lines_.At(fmt::format("index '{}'; expected a number from 0", Shown(cells[0])));
    }
    if (!Parse(cells[1], kind.warps) || kind.warps == 0 || kind.warps > kMaxWarps) {
      return lines_.At(
          fmt::format("warps '{}'; expected a number from 1 to 2^40", Shown(cells[1])));
    }
    if (cells[2].empty()) {
      kind.instructions = std::numeric_limits<double>::quiet_NaN();
    } else if (std::uint64_t instructions = 0; Parse(cells[2], instructions)) {
      kind.instructions = static_cast<double>(instructions);
    } else {
      return lines_.At(
          fmt::format("instructions '{}'; expected a number from 0, or nothing", Shown(cells[2])));
    }
    const auto vector = AddVector(rest);
    if (!vector) return vector.error();
    kind.vector = vector.value();
    return AddKind(index, kind);
  }

  Status AddKind(std::uint64_t index, const WarpKind& kind) {
    if (result_.invocations.empty() || index > result_.invocations.back().index) {
      result_.invocations.push_back({index, result_.kinds.size(), result_.kinds.size()});
    } else if (index < result_.invocations.back().index) {
      return lines_.At(fmt::format("index {} after {}; expected rows in launch order", index,
                                   result_.invocations.back().index));
    }
    result_.kinds.push_back(kind);
    result_.invocations.back().end = result_.kinds.size();
    return Success{};
  }

  // Reads the file of Photon's instrumentation tool: two lines per launch.
  Result<BasicBlockVectors> ReadPhoton() {
    while (true) {
      auto more = lines_.Next();
      if (!more) return more.error();
      if (!more.value()) return std::move(result_);
      const std::string_view line = lines_.text();
      if (line.empty()) continue;
      if (line == kPhotonHeader) {  // the tool appends to an existing file
        return lines_.At("a second header; expected the launches of one run");
      }
      const Status launch = AddPhotonLaunch(std::string(line));
      if (!launch) return launch.error();
    }
  }

  // Parses Kernel<index>,<blocks>,<warps>,<mangled name> and a line with one count per block.
  Status AddPhotonLaunch(std::string_view line) {
    constexpr std::string_view kKernel = "Kernel";
    const Error unexpected =
        lines_.At(fmt::format("'{}'; expected Kernel<index>,<blocks>,<warps>,<name>", Shown(line)));
    if (!line.starts_with(kKernel)) return unexpected;
    line.remove_prefix(kKernel.size());
    std::uint64_t index = 0;
    std::uint64_t blocks = 0;
    WarpKind kind;
    if (!Parse(TakeUntil(line, ','), index) || !Parse(TakeUntil(line, ','), blocks)) {
      return unexpected;
    }
    const std::string_view warps = TakeUntil(line, ',');
    if (line.empty()) return unexpected;
    if (!Parse(warps, kind.warps) || kind.warps == 0 || kind.warps > kMaxWarps) {
      return lines_.At(fmt::format("warps '{}'; expected a number from 1 to 2^40", Shown(warps)));
    }
    kind.instructions = std::numeric_limits<double>::quiet_NaN();
    if (!result_.invocations.empty() && index <= result_.invocations.back().index) {
      return lines_.At(fmt::format("index {} after {}; expected launches in order, once each",
                                   index, result_.invocations.back().index));
    }
    const auto first = FirstBlock(line, blocks);
    if (!first) return first.error();
    const Error no_counts =
        lines_.At(fmt::format("the end; expected the counts of {} blocks", blocks));
    const auto more = lines_.Next();
    if (!more) return more.error();
    if (!more.value()) return no_counts;
    const auto vector = AddPhotonVector(lines_.text(), first.value(), blocks);
    if (!vector) return vector.error();
    if (!lines_.ended()) return Cut();
    kind.vector = vector.value();
    return AddKind(index, kind);
  }

  // Block numbers are local to a kernel; each kernel gets a range of the program's numbers.
  Result<std::uint32_t> FirstBlock(std::string_view name, std::uint64_t blocks) {
    const auto known = kernels_.find(std::string(name));
    if (known != kernels_.end()) {
      if (known->second.second == blocks) return known->second.first;
      return lines_.At(fmt::format("{} blocks; expected {} as in the kernel's first launch", blocks,
                                   known->second.second));
    }
    const std::uint64_t room = std::numeric_limits<std::uint32_t>::max() - next_block_;
    if (blocks > room) {
      return lines_.At(fmt::format("{} blocks; expected at most {}", blocks, room));
    }
    kernels_.emplace(name, std::pair(next_block_, blocks));
    const std::uint32_t first = next_block_;
    next_block_ += static_cast<std::uint32_t>(blocks);
    return first;
  }

  Result<std::uint32_t> AddPhotonVector(std::string_view counts, std::uint32_t first,
                                        std::uint64_t blocks) {
    const std::string key = fmt::format("{} {}", first, counts);
    if (const auto known = ids_.find(key); known != ids_.end()) return known->second;
    const std::size_t before = result_.counts.size();
    std::string_view rest = counts;
    std::uint64_t seen = 0;
    for (; !rest.empty(); ++seen) {
      // A comma follows every count, including the last; without it, the line is truncated.
      const bool whole = rest.find(',') != std::string_view::npos;
      const std::string_view cell = TakeUntil(rest, ',');
      BlockCount entry;
      if (!whole || !Parse(cell, entry.count)) {
        return lines_.At(fmt::format("'{}'; expected a count and a comma", Shown(cell)));
      }
      if (seen == blocks) {
        return lines_.At(fmt::format("more than {} counts; expected one for each block", blocks));
      }
      entry.block = first + static_cast<std::uint32_t>(seen);
      if (entry.count > 0) result_.counts.push_back(entry);
    }
    if (seen != blocks) {
      return lines_.At(fmt::format("{} counts; expected {}, one for each block", seen, blocks));
    }
    if (result_.counts.size() == before) {
      return lines_.At("no block was counted; expected a launch that was instrumented");
    }
    const auto id = static_cast<std::uint32_t>(result_.size());
    result_.starts.push_back(result_.counts.size());
    ids_.emplace(key, id);
    return id;
  }

  // Equal text means an equal vector. Most rows repeat one, so each is parsed and stored once.
  Result<std::uint32_t> AddVector(std::string_view blocks) {
    const auto known = ids_.find(std::string(blocks));
    if (known != ids_.end()) return known->second;
    std::string_view rest = blocks;
    const std::size_t first = result_.counts.size();
    while (!rest.empty()) {
      const std::string_view pair = TakeUntil(rest, ' ');
      if (pair.empty()) continue;
      std::string_view count = pair;
      const std::string_view block = TakeUntil(count, ':');
      BlockCount entry;
      if (!Parse(block, entry.block) || !Parse(count, entry.count) || entry.count == 0) {
        return lines_.At(
            fmt::format("'{}'; expected block:count with a count from 1", Shown(pair)));
      }
      if (result_.counts.size() > first && entry.block <= result_.counts.back().block) {
        return lines_.At(fmt::format("block {} after {}; expected ascending numbers", entry.block,
                                     result_.counts.back().block));
      }
      result_.counts.push_back(entry);
    }
    if (result_.counts.size() == first) {
      return lines_.At("no blocks; expected at least one block:count");
    }
    const auto id = static_cast<std::uint32_t>(result_.size());
    result_.starts.push_back(result_.counts.size());
    ids_.emplace(blocks, id);
    return id;
  }

  LineReader lines_;
  BasicBlockVectors result_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  // Photon: the first block and the number of blocks of each kernel.
  std::unordered_map<std::string, std::pair<std::uint32_t, std::uint64_t>> kernels_;
  std::uint32_t next_block_ = 0;
};

}  // namespace

Result<BasicBlockVectors> ReadBasicBlockVectors(std::unique_ptr<ByteSource> source) {
  return Reader(std::move(source)).Read();
}

Result<BasicBlockVectors> ReadBasicBlockVectors(const std::string& path) {
  auto source = OpenStream(path);
  if (!source) return source.error();
  return ReadBasicBlockVectors(std::move(source).value());
}

}  // namespace stemtap::research
