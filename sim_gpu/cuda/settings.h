// SPDX-License-Identifier: Apache-2.0
//
// Settings of the fake driver: every environment variable that libcuda.so.1 reads, once, at the
// first use. docs/design/fake-gpu.md lists them for users.
#pragma once

#include <cstdint>
#include <string>

namespace fake_gpu {

struct Settings {
  // FAKE_GPU_CLOCK=virtual|real
  bool real_clock = false;
  // FAKE_GPU_LAUNCH_NS: what one launch costs the virtual host clock. 2.5 us is the usual price of
  // an asynchronous launch; much less and every kernel queues, much more and none does.
  std::uint64_t launch_ns = 2500;
  // FAKE_GPU_CAPTURE_FACTOR: how much slower a captured kernel is than its native run.
  double capture_factor = 1000;
  // FAKE_GPU_CAPTURE_SLOWS_RECORDS=1: the record of a captured kernel shows the slow duration.
  bool capture_slows_records = false;
  // FAKE_GPU_DEVICES
  int devices = 16;
  // FAKE_GPU_CAPABILITY: 75 is compute capability 7.5, and so on.
  int capability = 80;
  // FAKE_GPU_DRIVER_VERSION
  int driver_version = 13000;
  // FAKE_CUPTI_FIRST_CORRELATION: lets a test begin shortly before the 32-bit wrap.
  std::uint32_t first_correlation = 1;
  // FAKE_GPU_CLOCK_STEP_AT, FAKE_GPU_CLOCK_STEP_NS: while the kernel of that launch runs (1 is the
  // first), the realtime clock is set forth, or back if negative.
  std::uint64_t clock_step_at = 0;
  std::int64_t clock_step_ns = 0;
  // FAKE_GPU_TRUTH: file for the ground truth; %p becomes the process id.
  std::string truth_file;
  // FAKE_GPU_STALE_NAMES=1: kernel names vanish with their module at once, records or not.
  bool stale_names = false;
};

const Settings& settings();

}  // namespace fake_gpu
