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
#include "model/plan.h"
#include "online/director.h"
#include "stats/log_sketch.h"

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

std::string PackSketch(const stats::LogSketch& sketch);
std::optional<stats::LogSketch> UnpackSketch(std::string_view bytes);

// A capture: its launch index, its occurrence, and its record, whose name id has no meaning.
std::string PackCapture(const model::PlanSample& sample);
std::optional<model::PlanSample> UnpackCapture(std::string_view bytes);

// What a capture of the durations from `first_bin` on costs a run (online::Source).
struct Price {
  std::uint32_t first_bin = 0;
  double yield = 1.0;
  double price_ns = 0.0;
};
std::string PackPrices(std::span<const online::Cluster> clusters);
std::optional<std::vector<Price>> UnpackPrices(std::string_view bytes);

// The directions of one run, by kernel.
struct DirectedKernel {
  std::uint64_t key = 0;
  std::vector<online::DirectedCluster> clusters;
};
std::string PackDirections(std::span<const DirectedKernel> kernels);
std::optional<std::vector<DirectedKernel>> UnpackDirections(std::string_view bytes);

}  // namespace stemtap::fleet
