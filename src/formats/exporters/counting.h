// SPDX-License-Identifier: Apache-2.0
//
// Every tool that takes a selection of kernels counts launches in a way of its own. CountingModel says
// how; CountLaunches turns the launch indices of a plan, which are positions in the profile over all
// devices, into the numbers that the tool will give the same launches.
//
// The numbers follow from the launches before, so that the profile is needed wherever a launch may be
// one that the tool counts apart (another device) or not at all (inside a CUDA graph).
// SOURCE: docs/formats/selections.md.  MEMORY: O(kernels + samples).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "model/profile_reader.h"

namespace stemtap {

enum class CountScope {
  kNone,     // the tool is given launch indices of the profile, nothing is counted
  kProcess,  // one counter per process, whatever the device
  kContext,  // one counter per CUDA context, which is one per device here
};

struct CountingModel {
  CountScope scope = CountScope::kNone;
  std::uint64_t base = 0;      // number of the first launch
  bool graph_kernels = false;  // each kernel of each graph replay is counted, like any launch
  std::uint64_t most = 0;      // the largest number that the tool can read; 0: no limit
};

// Whether the devices of the profile belonged to one process or to one each (ranks). A profile does
// not say; it matters where counters are per process.
enum class Processes { kUnsaid, kOne, kPerDevice };

// What the run in which the selection is used does about CUDA graphs.
enum class Graphs {
  kUnsaid,
  kOff,        // they are switched off: their kernels are launched, and counted, one by one
  kUncounted,  // they are replayed, and neither building nor replaying them advances the number
};

struct CountingOptions {
  std::optional<std::uint16_t> device;  // only the samples of this one
  Processes processes = Processes::kUnsaid;
  Graphs graphs = Graphs::kUnsaid;
  // The user's word that there was one process, one device and no graph, for what no profile says.
  bool plain_launches = false;
  std::size_t ranks = 1;  // files of the profile, each of them a process
};

struct CountedSample {
  const PlanKernel* kernel = nullptr;
  const PlanCluster* cluster = nullptr;
  const PlanSample* sample = nullptr;
  std::size_t cluster_number = 0;  // over the whole plan, from 0
  std::uint64_t id = 0;            // the tool's number for it
  std::uint16_t device = 0;        // shm::kUnknown16 where neither plan nor profile knows
  // From the profile alone:
  std::uint64_t start_ns = 0;    // shm::kUnknownTime
  std::uint64_t occurrence = 0;  // from 0, among the counted launches of this name
  // All counted launches of this name have the device, stream, grid, block and shared memory in
  // common, and all of these are known: what "the third launch of it" means is beyond doubt.
  bool uniform = false;
};

struct CountedPlan {
  const Plan* plan = nullptr;
  bool from_profile = false;
  std::vector<CountedSample> samples;              // by launch index; one may stand twice
  std::size_t left_out = 0;                        // samples of other devices
  std::map<std::uint16_t, std::uint64_t> devices;  // launches counted on each; needs the profile
  std::uint64_t graph_kernels = 0;                 // in the profile
  // Names of the counted launches, in order of first launch; needs the profile.
  std::vector<std::string> names;
};

// `profile` is the run that the plan was made of, from its beginning, or nullptr. Errors: a profile
// that is not that run, launches that the tool cannot tell apart, a number that it cannot read, no
// sample at all. `tool` and `profile_name` are for the messages. `plan` must outlive the result.
Result<CountedPlan> CountLaunches(const Plan& plan, ProfileReader* profile,
                                  const std::string& profile_name, const CountingModel& model,
                                  const std::string& tool, const CountingOptions& options);

// The distinct ids, ascending.
std::vector<std::uint64_t> Ids(const CountedPlan& counted);

struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // inclusive
};

// Runs of consecutive ids. REQUIRES: ascending and distinct.
std::vector<IdRange> Ranges(const std::vector<std::uint64_t>& ids);

// Device ordinals as people read them: "0, 1 and 3"; the unknown one is "unknown".
std::string DeviceName(std::uint16_t device);

}  // namespace stemtap
