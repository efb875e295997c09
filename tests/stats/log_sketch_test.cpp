// SPDX-License-Identifier: Apache-2.0
#include "stats/log_sketch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace stemtap::stats {
namespace {

bool SameBins(const LogSketch& a, const LogSketch& b) {
  // The dense windows may differ in empty bins, but their contents must be equal.
  const auto bin_at = [](const LogSketch& s, std::uint32_t bin) {
    const std::uint32_t at = bin - s.first_bin();
    return at < s.bins().size() ? s.bins()[at] : LogSketch::Bin{};
  };
  for (std::uint32_t bin = 0; bin < 4000; ++bin) {
    const LogSketch::Bin x = bin_at(a, bin);
    const LogSketch::Bin y = bin_at(b, bin);
    if (x.count != y.count || x.offset_sum != y.offset_sum ||
        x.offset_square_sum != y.offset_square_sum) {
      return false;
    }
  }
  return a.count() == b.count() && a.total_duration() == b.total_duration();
}

// CheckedSketch compares every result of the sketch with the values that were added.
struct CheckedSketch {
  LogSketch sketch;
  std::vector<std::uint64_t> values;

  void Add(std::uint64_t value) {
    sketch.Add(value);
    values.push_back(value);
  }
  void CheckEveryBin() const {
    for (std::size_t i = 0; i < sketch.bins().size(); ++i) {
      const auto bin = sketch.first_bin() + static_cast<std::uint32_t>(i);
      Moments exact;
      for (const std::uint64_t v : values) {
        if (LogSketch::BinOf(v) == bin) exact.Add(static_cast<double>(v));
      }
      const Moments m = sketch.BinMoments(bin);
      REQUIRE(m.count() == exact.count());
      REQUIRE(m.mean() == doctest::Approx(exact.mean()).epsilon(1e-12));
      REQUIRE(m.variance() == doctest::Approx(exact.variance()).epsilon(1e-6));
    }
  }
};

TEST_CASE("every duration is inside its bin, and the relative bin width is at most 1/64") {
  const auto check = [](std::uint64_t d) {
    const std::uint32_t bin = LogSketch::BinOf(d);
    REQUIRE(LogSketch::LowerEdge(bin) <= d);
    REQUIRE(d < LogSketch::LowerEdge(bin + 1));
    const std::uint64_t width = LogSketch::LowerEdge(bin + 1) - LogSketch::LowerEdge(bin);
    REQUIRE(width <= std::max<std::uint64_t>(1, LogSketch::LowerEdge(bin) / 64));
  };
  for (std::uint64_t d = 0; d < 100000; ++d) check(d);
  for (int bit = 17; bit < 63; ++bit) {
    for (const std::int64_t near : {-1, 0, 1, 12345}) {
      check((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(near));
    }
  }
}

TEST_CASE("bin moments are exact") {
  std::mt19937_64 random(7);
  CheckedSketch checked;
  for (int i = 0; i < 4000; ++i) checked.Add(5000 + random() % 3000);
  for (int i = 0; i < 200; ++i) checked.Add(random() >> (20 + random() % 40));
  checked.CheckEveryBin();
}

TEST_CASE("equal durations have no spread for any count and length") {
  LogSketch sketch;
  for (int i = 0; i < 100000; ++i) sketch.Add(1'234'567'891);
  CHECK(sketch.All().variance() == 0.0);
  CHECK(sketch.All().mean() == 1'234'567'891.0);
}

TEST_CASE("zero and the longest possible durations are counted") {
  LogSketch sketch;
  sketch.Add(0);
  sketch.Add(~std::uint64_t{0});
  CHECK(sketch.count() == 2);
  CHECK(sketch.bins().size() <= 3776 + 32);
  CHECK(sketch.total_duration() == static_cast<uint128>(~std::uint64_t{0}));
}

TEST_CASE("parts of a stream merged in any order give a bit-identical sketch") {
  std::mt19937_64 random(11);
  LogSketch whole;
  std::vector<LogSketch> parts(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t d = 100 + (random() >> (34 + random() % 20));
    whole.Add(d);
    parts[random() % parts.size()].Add(d);
  }
  for (int round = 0; round < 5; ++round) {
    std::shuffle(parts.begin(), parts.end(), random);
    LogSketch merged;
    for (const LogSketch& part : parts) merged.Merge(part);
    CHECK(SameBins(merged, whole));
  }
}

TEST_CASE("launches are counted in a range of bins") {
  LogSketch sketch;
  CHECK(sketch.CountIn(0, LogSketch::kEndBin) == 0);
  for (const std::uint64_t duration : {3u, 1'000u, 1'000u, 9'000u}) sketch.Add(duration);
  const std::uint32_t middle = LogSketch::BinOf(1'000);
  CHECK(sketch.CountIn(0, LogSketch::kEndBin) == 4);
  CHECK(sketch.CountIn(0, middle) == 1);
  CHECK(sketch.CountIn(middle, middle + 1) == 2);
  CHECK(sketch.CountIn(middle + 1, LogSketch::kEndBin) == 1);
  CHECK(sketch.CountIn(middle, middle) == 0);
  CHECK(LogSketch::BinOf(~std::uint64_t{0}) == LogSketch::kEndBin - 1);
}

}  // namespace
}  // namespace stemtap::stats
