// SPDX-License-Identifier: Apache-2.0
#include "session/recording_schedule.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/text.h"

namespace stemtap::session {
namespace {

struct Unit {
  std::string_view name;
  double seconds;  // 0: the number is a number of launches
};
constexpr Unit kUnits[] = {{"", 1.0},   {"s", 1.0},    {"ms", 1e-3},      {"min", 60.0},
                           {"m", 60.0}, {"h", 3600.0}, {"launches", 0.0}, {"launch", 0.0}};

// 30 years; more is a typing error, and launches at 10 million per second for as long fit 64 bits.
constexpr double kMaxSeconds = 1e9;
constexpr double kMaxLaunches = 1e16;

}  // namespace

Result<Extent> ParseExtent(std::string_view text) {
  const auto wrong = [&] {
    return Error{fmt::format("is '{}'; expected a time (30, 30s, 500ms, 5min, 2h) or a number of "
                             "launches (20000launches)",
                             EscapeForTerminal(std::string(text))),
                 2};
  };
  double number = 0.0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || !(number > 0.0)) return wrong();
  std::string_view unit(end, text.data() + text.size());
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const Unit& known : kUnits) {
    if (known.name != unit) continue;
    if (known.seconds == 0.0) {
      if (number > kMaxLaunches || number != std::floor(number)) return wrong();
      return Extent{0.0, static_cast<std::uint64_t>(number)};
    }
    if (number * known.seconds > kMaxSeconds) return wrong();
    return Extent{number * known.seconds, 0};
  }
  return wrong();
}

RecordingSchedule::RecordingSchedule(const RecordingOptions& options) : options_(options) {
  if (options_.paused) return;
  until_s_ = options_.delay.seconds;
  left_ = options_.delay.launches;
  if (options_.delay.empty()) Start();
}

shm::Recording RecordingSchedule::wanted() const {
  if (phase_ == Phase::kRecording) return shm::Recording::kOn;
  const bool counts = options_.count_while_off || (phase_ == Phase::kWaiting && left_ != 0);
  return counts ? shm::Recording::kCounting : shm::Recording::kOff;
}

bool RecordingSchedule::ObservesAtLimit() {
  if (phase_ == Phase::kRecording) {
    --left_;
    if (left_ == 0) {
      Stop();
      is_complete_ = true;
    }
    return true;
  }
  if (phase_ == Phase::kWaiting && left_ != 0) {
    if (--left_ == 0) Start();
    return false;
  }
  // Launches that were made before the recording was switched off are still on their way.
  return wanted() == shm::Recording::kOff && !is_complete_;
}

void RecordingSchedule::Start() {
  if (phase_ == Phase::kRecording) return;
  phase_ = Phase::kRecording;
  is_complete_ = false;
  left_ = options_.duration.launches;
  until_s_ = options_.duration.seconds == 0.0 ? 0.0 : now_s_ + options_.duration.seconds;
}

void RecordingSchedule::Stop() {
  phase_ = Phase::kStopped;
  until_s_ = 0.0;
  left_ = 0;
}

void RecordingSchedule::Update(double now_s) {
  now_s_ = now_s;
  if (until_s_ == 0.0 || now_s < until_s_) return;
  if (phase_ == Phase::kWaiting) {
    Start();
  } else {
    Stop();
  }
}

}  // namespace stemtap::session
