// SPDX-License-Identifier: Apache-2.0
#include "cuda/settings.h"

#include "env.h"

namespace fake_gpu {
namespace {

Settings::Durations ReadDurations() {
  const std::string durations = fake_env::Text("FAKE_GPU_DURATIONS", "auto");
  if (durations == "auto") return Settings::Durations::kAuto;
  if (durations == "parameter") return Settings::Durations::kParameter;
  if (durations == "model") return Settings::Durations::kModel;
  std::fprintf(stderr, "fake GPU: FAKE_GPU_DURATIONS=%s is not auto, parameter or model\n",
               durations.c_str());
  std::abort();
}

Settings Read() {
  Settings s;
  const std::string clock = fake_env::Text("FAKE_GPU_CLOCK", "virtual");
  if (clock != "virtual" && clock != "real") {
    std::fprintf(stderr, "fake GPU: FAKE_GPU_CLOCK=%s is neither virtual nor real\n",
                 clock.c_str());
    std::abort();
  }
  s.real_clock = clock == "real";
  s.launch_ns = fake_env::Number("FAKE_GPU_LAUNCH_NS", s.launch_ns);
  s.capture_factor = fake_env::Real("FAKE_GPU_CAPTURE_FACTOR", s.capture_factor);
  s.capture_slows_records = fake_env::Number("FAKE_GPU_CAPTURE_SLOWS_RECORDS", 0) != 0;
  s.devices = static_cast<int>(fake_env::Number("FAKE_GPU_DEVICES", 1));
  s.capability = static_cast<int>(fake_env::Number("FAKE_GPU_CAPABILITY", 90));
  s.durations = ReadDurations();
  s.seed = fake_env::Number("FAKE_GPU_SEED", s.seed);
  s.driver_version = static_cast<int>(fake_env::Number("FAKE_GPU_DRIVER_VERSION", 13000));
  s.first_correlation =
      static_cast<std::uint32_t>(fake_env::Number("FAKE_CUPTI_FIRST_CORRELATION", 1));
  s.clock_step_at = fake_env::Number("FAKE_GPU_CLOCK_STEP_AT", 0);
  s.clock_step_ns = static_cast<std::int64_t>(fake_env::Real("FAKE_GPU_CLOCK_STEP_NS", 0));
  s.truth_file = fake_env::Text("FAKE_GPU_TRUTH");
  s.stale_names = fake_env::Number("FAKE_GPU_STALE_NAMES", 0) != 0;
  return s;
}

}  // namespace

const Settings& settings() {
  // Leaked: calls may come after the process's destructors.
  static const Settings& read = *new Settings(Read());
  return read;
}

}  // namespace fake_gpu
