// SPDX-License-Identifier: Apache-2.0
//
// CuptiClock converts the times of CUPTI's records to CLOCK_REALTIME. CUPTI's own clock is
// CLOCK_REALTIME, and then nothing is converted. Any client can replace the clock for the whole
// process, without notice, and it cannot be restored: Kineto installs the CPU's cycle counter,
// which counts 2 to 4 times per nanosecond. Under WSL, CUPTI's own clock is CLOCK_MONOTONIC_RAW.
//
// So the flusher reads both clocks in every period. If CUPTI's clock is more than a day from
// CLOCK_REALTIME, a *calibration* measures its rate between two readings. A record whose start is
// within a day of now is in nanoseconds; otherwise the calibration must bring it within a day of
// now, or the record is rejected.
//
// THREADS: Sample and Calibrate from one thread; the rest from any thread.  UNITS: nanoseconds, and
// *ticks* of CUPTI's clock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stemtap::inject {

class CuptiClock {
 public:
  // Reading is all clocks at one moment: CUPTI's was read between two readings of ours, `apart_ns`
  // from each other.
  struct Reading {
    std::uint64_t monotonic_ns;
    std::uint64_t ticks;
    std::uint64_t realtime_ns;
    std::uint64_t apart_ns;
  };

  // If our readings are further apart than this, the thread was interrupted and the reading is not
  // used. 0.1 % of kShortestNs.
  static constexpr std::uint64_t kMaxApartNs = 10'000;
  // Shortest interval of a calibration. A longer one delays the first records after the clock was
  // replaced.
  static constexpr std::uint64_t kShortestNs = 10'000'000;
  // A calibration is repeated over longer intervals: its error falls from 1e-3 to 1e-5 and 1e-6.
  static constexpr std::uint64_t kLongerNs[] = {1'000'000'000, 10'000'000'000};
  // A rate that differs more from what was measured is a different clock.
  static constexpr double kAllowed = 0.03;
  // A clock whose rate is this close to one tick per nanosecond counts nanoseconds. It is more than
  // the error of a calibration. A cycle counter within 0.5 % of 1 GHz is not detected.
  static constexpr double kNanoseconds = 0.005;
  // Nanoseconds per tick of cycle counters, and of counters of microseconds, are within these
  // limits.
  static constexpr double kMinRate = 1e-3, kMaxRate = 1e4;
  // Maximum distance of a record's time from now. Programs delay records for less, and running
  // clocks are stepped by less, except on a machine without a battery whose clock starts in 1970. A
  // 3 GHz cycle counter comes this close after 19 years of uptime.
  static constexpr std::uint64_t kDay = 86'400'000'000'000;

  // Takes one reading. Afterwards, doubtful() returns whether the clock has to be calibrated.
  void Sample(const Reading& now) noexcept {
    if (now.apart_ns > kMaxApartNs) return;
    doubtful_ = !Explains(now);
    if (doubtful_) return;
    last_ = now;
    if (Apart(now.ticks, now.realtime_ns) <= kDay) return;
    if (longer_ < 2 && now.monotonic_ns - first_.monotonic_ns >= kLongerNs[longer_]) {
      ++longer_;
      Publish(first_, now);
    }
  }

  // Measures the rate between two readings. Returns whether they can be used.
  bool Calibrate(const Reading& from, const Reading& to) noexcept {
    if (from.apart_ns > kMaxApartNs || to.apart_ns > kMaxApartNs) return false;
    if (to.monotonic_ns - from.monotonic_ns < kShortestNs) return false;
    if (!Publish(from, to)) return false;
    first_ = from;
    last_ = to;
    longer_ = 0;
    doubtful_ = false;
    return true;
  }

  // Returns whether the last reading is not explained by CLOCK_REALTIME or by the calibration.
  bool doubtful() const noexcept { return doubtful_; }

  // Returns whether CUPTI's last clock does not count nanoseconds, so that a client installed it.
  bool is_replaced() const noexcept {
    const Calibration* calibration = Latest();
    return calibration != nullptr && calibration->ns_per_tick != 1;
  }

  // Converts the start and the duration of a record. Returns false if the clock is unknown.
  // `realtime_ns` is the current time.
  bool Convert(std::uint64_t& start, std::uint64_t& duration,
               std::uint64_t realtime_ns) const noexcept {
    if (Apart(start, realtime_ns) <= kDay) return true;
    const Calibration* calibration = Latest();
    if (calibration == nullptr) return false;
    const std::uint64_t converted = calibration->ToRealtime(start);
    if (Apart(converted, realtime_ns) > kDay) return false;
    start = converted;
    duration =
        static_cast<std::uint64_t>(static_cast<double>(duration) * calibration->ns_per_tick + 0.5);
    return true;
  }

 private:
  struct Calibration {
    std::uint64_t ticks = 0;
    std::uint64_t realtime_ns = 0;  // at the same moment
    double ns_per_tick = 0;

    std::uint64_t ToRealtime(std::uint64_t then) const noexcept {
      const auto after = static_cast<double>(static_cast<std::int64_t>(then - ticks));
      const double ns = after * ns_per_tick;
      // Beyond this, a conversion to an integer is undefined, and the result is rejected anyway.
      constexpr double kLimit = 9e18;
      if (ns > kLimit || ns < -kLimit) return 0;
      return realtime_ns + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns));
    }
  };

  // Each is written once, before it is published, so that readers need no lock. Three are needed
  // for each replacement of the clock; when all are used, the last one stays in use.
  static constexpr std::size_t kMaxCalibrations = 32;

  static std::uint64_t Apart(std::uint64_t a, std::uint64_t b) noexcept {
    return a > b ? a - b : b - a;
  }

  bool Explains(const Reading& now) const noexcept {
    if (Apart(now.ticks, now.realtime_ns) <= kDay) return true;
    const Calibration* calibration = Latest();
    if (calibration == nullptr) return false;
    const auto elapsed = static_cast<double>(now.monotonic_ns - last_.monotonic_ns);
    const auto counted = static_cast<double>(static_cast<std::int64_t>(now.ticks - last_.ticks));
    const double off = counted * calibration->ns_per_tick - elapsed;
    const double allowed = kAllowed * elapsed + static_cast<double>(2 * kMaxApartNs);
    return off <= allowed && off >= -allowed;
  }

  bool Publish(const Reading& from, const Reading& to) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    const auto counted = static_cast<double>(static_cast<std::int64_t>(to.ticks - from.ticks));
    double rate = static_cast<double>(to.monotonic_ns - from.monotonic_ns) / counted;
    if (rate > 1 - kNanoseconds && rate < 1 + kNanoseconds) rate = 1;
    if (!(rate >= kMinRate && rate <= kMaxRate) || count == kMaxCalibrations) return false;
    calibrations_[count] = {to.ticks, to.realtime_ns, rate};
    // Release: publishes the calibration; pairs with the acquire in Latest.
    count_.store(count + 1, std::memory_order_release);
    return true;
  }

  const Calibration* Latest() const noexcept {
    // Acquire: pairs with the release in Publish.
    const std::size_t count = count_.load(std::memory_order_acquire);
    return count == 0 ? nullptr : &calibrations_[count - 1];
  }

  Calibration calibrations_[kMaxCalibrations];
  std::atomic<std::size_t> count_{0};
  // Of the sampling thread.
  Reading first_ = {};      // where the current calibration begins
  Reading last_ = {};       // the last reading that was explained
  std::size_t longer_ = 0;  // how often the current calibration was repeated
  bool doubtful_ = false;
};

}  // namespace stemtap::inject
