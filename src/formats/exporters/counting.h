// SPDX-License-Identifier: Apache-2.0
//
// CountingModel describes how a tool counts launches; every tool that accepts a selection of
// kernels counts differently. CountLaunches converts the launch indices of a plan, which are
// positions in the profile over all devices, into the numbers that the tool gives to the same
// launches.
//
// A launch's number depends on the launches before it. The profile is therefore needed whenever the
// tool counts some launches separately (another device) or not at all (inside a CUDA graph).
// SOURCE: docs/formats/selections.md.  MEMORY: O(kernels + samples).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "model/profile.h"

namespace stemtap::formats {

enum class CountScope {
  kNone,     // nothing is counted; the tool takes launch indices of the profile
  kProcess,  // one counter per process, across devices
  kContext,  // one counter per CUDA context; here one per device
};

struct CountingModel {
  CountScope scope = CountScope::kNone;
  std::uint64_t base = 0;      // number of the first launch
  bool graph_kernels = false;  // each kernel of each graph replay counts like any other launch
  std::uint64_t max_id = 0;    // maximum number that the tool can read; 0 = unlimited
};

// Whether the devices of the profile belong to one process or to one process each (ranks). A
// profile does not record this; it matters where counters are per process.
enum class Processes { kUnspecified, kOne, kPerDevice };

// How the run that uses the selection treats CUDA graphs.
enum class Graphs {
  kUnspecified,
  kOff,        // graphs are disabled: their kernels are launched, and counted, one by one
  kUncounted,  // graphs are replayed; neither building nor replaying them advances the counter
};

struct CountingOptions {
  std::optional<std::uint16_t> device;  // only samples of this device
  Processes processes = Processes::kUnspecified;
  Graphs graphs = Graphs::kUnspecified;
  // The user asserts one process, one device and no graphs, which no profile records.
  bool plain_launches = false;
  // Files of the profile; each is a process. If each used one device, `processes` may be unsaid.
  std::size_t ranks = 1;
  std::set<std::uint64_t> except;  // launch indices of samples to leave out
  std::string only_range;          // only samples in these ranges (LaunchSelection::only_range)
};

struct CountedSample {
  const model::PlanKernel* kernel = nullptr;
  const model::PlanCluster* cluster = nullptr;
  const model::PlanSample* sample = nullptr;
  std::size_t cluster_number = 0;  // over the whole plan, from 0
  std::uint64_t id = 0;            // the tool's number for the launch
  std::uint16_t device = 0;        // shm::kUnknown16 if neither plan nor profile contains it
  // Known only from the profile:
  std::string name;  // of the launch; planned_name() is a function if the plan is by function
  std::uint64_t start_ns = 0;    // shm::kUnknownTime if unknown
  std::uint64_t occurrence = 0;  // from 0, among the counted launches with this name
  // True if all counted launches with this name have the same known device, stream, grid, block and
  // shared memory, so that "the third launch of the kernel" is unambiguous.
  bool uniform = false;

  // Returns the name of the launch's kernel in the plan.
  const std::string& planned_name() const { return model::KernelNameOf(*kernel, *sample); }
};

struct CountedPlan {
  const model::Plan* plan = nullptr;
  bool from_profile = false;
  std::vector<CountedSample> samples;              // by launch index; a launch may occur twice
  std::size_t left_out = 0;                        // samples of other devices
  std::size_t excepted = 0;                        // samples left out by `except`
  std::size_t in_other_ranges = 0;                 // samples left out by `only_range`
  std::map<std::uint16_t, std::uint64_t> devices;  // launches counted per device; needs the profile
  std::uint64_t graph_kernels = 0;                 // number of graph kernels in the profile
  // Kernel names of the counted launches, in order of first launch; needs the profile.
  std::vector<std::string> names;
};

// `profile` is the run that the plan was made from, positioned at its beginning, or nullptr.
// Returns an error if the profile is not that run, the tool cannot distinguish the launches or
// cannot read a number, or there are no samples. `tool` and `profile_name` are used in messages.
// `plan` must outlive the result.
Result<CountedPlan> CountLaunches(const model::Plan& plan, model::ProfileReader* profile,
                                  const std::string& profile_name, const CountingModel& model,
                                  const std::string& tool, const CountingOptions& options);

// Returns the distinct ids in ascending order.
std::vector<std::uint64_t> Ids(const CountedPlan& counted);

struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};

// Returns the runs of consecutive ids. REQUIRES: `ids` are ascending and distinct.
std::vector<IdRange> Ranges(const std::vector<std::uint64_t>& ids);

// Returns the options that select one device after another, "--device 0, --device 1", for messages.
// `devices` may repeat; unknown devices are left out.
std::string DeviceChoices(const std::vector<std::uint16_t>& devices);

// Formats a device ordinal for messages; the unknown device is "unknown".
std::string DeviceName(std::uint16_t device);

}  // namespace stemtap::formats
