// SPDX-License-Identifier: Apache-2.0
//
// Settings of the simulated driver: libcuda.so.1 reads all its environment variables once, on first
// use. docs/design/fake-gpu.md lists them for users.
#pragma once

#include <cstdint>
#include <string>

namespace fake_gpu {

struct Settings {
  // FAKE_GPU_CLOCK=virtual|real
  bool real_clock = false;
  // FAKE_GPU_LAUNCH_NS: cost of one launch on the virtual host clock. 2.5 us is typical for an
  // asynchronous launch. With a much smaller value every kernel queues; with a much larger one none
  // does.
  std::uint64_t launch_ns = 2500;
  // FAKE_GPU_CAPTURE_FACTOR: slowdown of a captured kernel relative to its native run.
  double capture_factor = 1000;
  // FAKE_GPU_CAPTURE_SLOWS_RECORDS=1: the record of a captured kernel shows the slow duration.
  bool capture_slows_records = false;
  // FAKE_GPU_DEVICES
  int devices = 1;
  // FAKE_GPU_CAPABILITY: 75 means compute capability 7.5.
  int capability = 90;
  // FAKE_GPU_DURATIONS=auto|parameter|model: source of the durations of kernels; auto decides per
  // module, see durations.h.
  enum class Durations { kAuto, kParameter, kModel };
  Durations durations = Durations::kAuto;
  // FAKE_GPU_SEED: of the noise of modeled durations.
  std::uint64_t seed = 1;
  // FAKE_GPU_DRIVER_VERSION
  int driver_version = 13000;
  // FAKE_CUPTI_FIRST_CORRELATION: lets a test start shortly before the 32-bit wrap.
  std::uint32_t first_correlation = 1;
  // FAKE_GPU_CLOCK_STEP_AT, FAKE_GPU_CLOCK_STEP_NS: adjusts the real-time clock by this step while
  // the kernel of that launch (counted from 1) runs.
  std::uint64_t clock_step_at = 0;
  std::int64_t clock_step_ns = 0;
  // FAKE_GPU_TRUTH: ground-truth file; %p is replaced with the process id.
  std::string truth_file;
  // FAKE_GPU_STALE_NAMES=1: kernel names are unmapped with their module, even if records are
  // pending.
  bool stale_names = false;
};

const Settings& settings();

}  // namespace fake_gpu
