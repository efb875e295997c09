// SPDX-License-Identifier: Apache-2.0
//
// The values that collectors of a job exchange, as bytes: numbers in LEB128, texts with their
// length before them. Every reader checks its input, which is not trusted, and fails as a whole.
// See docs/design/fleet.md.
//
// THREADS: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/kernel_id.h"
#include "online/director.h"
#include "online/kernel_sketch.h"
#include "stats/log_sketch.h"
#include "stats/serial_correlation.h"

namespace stemtap::fleet {

class Packer {
 public:
  Packer& Number(std::uint64_t number);
  Packer& Text(std::string_view text);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Unpacker reads what Packer wrote. After a failure, everything that it returns is 0 or empty.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t Number();
  // Returns a number of at most `most`; fails if it is greater.
  std::uint64_t Number(std::uint64_t most);
  std::string_view Text();
  // Whether all bytes were read and none was missing.
  bool done() const { return ok_ && bytes_.empty(); }
  bool ok() const { return ok_; }
  bool has_more() const { return ok_ && !bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

std::string PackId(const model::KernelId& id);
std::optional<model::KernelId> UnpackId(std::string_view bytes);

// Returns the number by which a job knows a kernel.
std::uint64_t KeyOf(const model::KernelId& id);

// What the bins of a sketch contain: durations within them, or the cells of groups of launches
// (online::SketchOfCells), whose means are in them.
enum class BinContent : std::uint8_t { kDurations, kCells };
std::string PackSketch(const stats::LogSketch& sketch, BinContent content = BinContent::kDurations);
std::optional<stats::LogSketch> UnpackSketch(std::string_view bytes);

// A capture: its launch index, its occurrence, its bin if its duration was imputed, and its record,
// whose name id has no meaning. The other members are not read back.
std::string PackCapture(const online::Capture& capture);
std::optional<online::Capture> UnpackCapture(std::string_view bytes);

// What a capture of the durations from `first_bin` on costs a run (online::Source).
struct Price {
  std::uint32_t first_bin = 0;
  double yield = 1.0;
  double price_ns = 0.0;
};
// Traits is what a run has observed of a kernel besides its durations.
struct Traits {
  std::vector<Price> prices;  // by cluster, ascending
  stats::Correlations correlations;
  // Launches before the first one that could be captured; absent: none can be captured yet.
  std::optional<stats::LogSketch> before;
};
std::string PackTraits(const online::KernelReport& kernel);
std::optional<Traits> UnpackTraits(std::string_view bytes);

// Returns the launches of `all` that could be captured. None, or all, if the traits are not of
// these launches.
stats::LogSketch CapturableOf(const stats::LogSketch& all, const Traits& traits);

// The directions of one run, by kernel.
struct DirectedKernel {
  std::uint64_t key = 0;
  std::vector<online::DirectedCluster> clusters;
  bool is_sampled = false;  // online::KernelDirections
};
std::string PackDirections(std::span<const DirectedKernel> kernels);
std::optional<std::vector<DirectedKernel>> UnpackDirections(std::string_view bytes);

}  // namespace stemtap::fleet
