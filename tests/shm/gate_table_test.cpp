// SPDX-License-Identifier: Apache-2.0
#include "shm/gate_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "shm/context_key.h"
#include "shm/launch_draw.h"

namespace stemtap::shm {
namespace {

// Only a slot that accepts every launch accepts this draw.
constexpr std::uint32_t kLastDraw = 0xFFFFFFFF;

// Returns which of the launches 0 to `launches` - 1 spend a credit of slot 3.
std::vector<std::uint64_t> Spenders(GateTable& gate, const LaunchDraws& draws,
                                    std::uint64_t launches) {
  std::vector<std::uint64_t> spenders;
  for (std::uint64_t i = 0; i < launches; ++i) {
    if (gate.TrySpend(3, draws(i))) spenders.push_back(i);
  }
  return spenders;
}

TEST_CASE("an empty table contains no contexts and no credits") {
  auto gate = std::make_unique<GateTable>();
  CHECK(gate->Find(1) == kNoSlot);
  CHECK_FALSE(gate->TrySpend(1, kLastDraw));
}

TEST_CASE("a context can be assigned to a different slot") {
  auto gate = std::make_unique<GateTable>();
  CHECK(gate->Publish(42, 7));
  CHECK(gate->Find(42) == 7);
  CHECK(gate->Publish(42, 9));
  CHECK(gate->Find(42) == 9);
  CHECK(gate->Find(42 + kGateContexts) == kNoSlot);  // same home entry, different key
}

TEST_CASE("each credit is spent once, and unspent credits can be withdrawn") {
  auto gate = std::make_unique<GateTable>();
  gate->Grant(3, 2);
  CHECK(gate->TrySpend(3, kLastDraw));
  CHECK(gate->TrySpend(3, kLastDraw));
  CHECK_FALSE(gate->TrySpend(3, kLastDraw));
  gate->Grant(3, 5);
  CHECK(gate->TrySpend(3, kLastDraw));
  gate->Grant(3, 3);  // takes back two unspent credits
  CHECK_FALSE(gate->TrySpend(3, kLastDraw));
  CHECK(gate->spent(3) == 3);
}

TEST_CASE("a credit that another thread spends meanwhile is not spent twice") {
  for (const std::uint32_t granted : {1u, 2u}) {
    auto gate = std::make_unique<GateTable>();
    gate->Grant(3, granted);
    // The draw is made between reading the counters and spending.
    const bool spent = gate->TrySpend(3, [&] {
      CHECK(gate->TrySpend(3, 0));
      return 0u;
    });
    CHECK(spent == (granted == 2));
    CHECK(gate->spent(3) == granted);
  }
}

TEST_CASE("credit counters may wrap") {
  auto gate = std::make_unique<GateTable>();
  gate->Grant(1, 0xFFFFFFFF);
  // 2^32 - 1 granted and 0 spent credits are read as -1, so no credit is open.
  CHECK_FALSE(gate->TrySpend(1, kLastDraw));
  gate->Grant(1, 0);
  gate->Grant(1, 1);
  CHECK(gate->TrySpend(1, kLastDraw));
}

TEST_CASE("a slot that accepts every launch spends its credits on the first launches") {
  auto gate = std::make_unique<GateTable>();
  CHECK(gate->accept(3) == kAcceptAll);
  gate->Grant(3, 5);
  CHECK(Spenders(*gate, LaunchDraws(1), 100) == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("launches spend open credits with the acceptance probability") {
  constexpr double kLaunches = 100'000;
  for (const double probability : {0.5, 0.1, 0.01, 0.001}) {
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
      CAPTURE(probability);
      CAPTURE(seed);
      auto gate = std::make_unique<GateTable>();
      gate->Grant(3, static_cast<std::uint32_t>(kLaunches), AcceptOf(probability));
      const auto spenders =
          Spenders(*gate, LaunchDraws(seed), static_cast<std::uint64_t>(kLaunches));
      // Four standard deviations of a binomial count.
      const double sd = std::sqrt(kLaunches * probability * (1 - probability));
      CHECK(std::abs(static_cast<double>(spenders.size()) - kLaunches * probability) < 4 * sd);
      CHECK(gate->spent(3) == spenders.size());
    }
  }
}

TEST_CASE("the last credit closes the slot for every draw") {
  auto gate = std::make_unique<GateTable>();
  gate->Grant(3, 20, AcceptOf(0.1));
  const auto spenders = Spenders(*gate, LaunchDraws(1), 10'000);
  CHECK(spenders.size() == 20);
  CHECK(spenders.back() > 50);    // 20 credits at one launch in ten: 200 launches are expected
  CHECK(spenders.back() < 1000);  // far fewer than all launches
  CHECK_FALSE(gate->TrySpend(3, 0));
}

TEST_CASE("the seed and the process determine which launches spend credits") {
  const auto spenders_of = [](const LaunchDraws& draws) {
    auto gate = std::make_unique<GateTable>();
    gate->Grant(3, 1000, AcceptOf(0.1));
    return Spenders(*gate, draws, 1000);
  };
  const std::vector<LaunchDraws> different = {LaunchDraws(1),           LaunchDraws(2),
                                              LaunchDraws(1, 1),        ProcessDraws(1, 7, 0, 0),
                                              ProcessDraws(1, 8, 0, 0), ProcessDraws(1, 7, 1, 0),
                                              ProcessDraws(1, 7, 0, 1)};
  for (std::size_t i = 0; i < different.size(); ++i) {
    const auto of_i = spenders_of(different[i]);
    CHECK(spenders_of(different[i]) == of_i);
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i);
      CAPTURE(j);
      const auto of_j = spenders_of(different[j]);
      std::vector<std::uint64_t> both;
      std::set_intersection(of_i.begin(), of_i.end(), of_j.begin(), of_j.end(),
                            std::back_inserter(both));
      // Independent draws have ten of 1,000 launches in common, with a standard deviation of 3.1.
      CHECK(both.size() < 26);
    }
  }
}

TEST_CASE("a launch draws once, and only if a credit is open") {
  auto gate = std::make_unique<GateTable>();
  int drawn = 0;
  const auto draw = [&] {
    ++drawn;
    return kLastDraw;
  };
  CHECK_FALSE(gate->TrySpend(3, draw));
  CHECK(drawn == 0);
  gate->Grant(3, 1, AcceptOf(0.5));
  CHECK_FALSE(gate->TrySpend(3, draw));
  CHECK(drawn == 1);
  CHECK(gate->spent(3) == 0);
  gate->Grant(3, 1);  // without an acceptance rate, for every launch
  CHECK(gate->TrySpend(3, draw));
  CHECK_FALSE(gate->TrySpend(3, draw));
  CHECK(drawn == 2);
}

TEST_CASE("AcceptOf rounds a probability to a number of draws") {
  static_assert(AcceptOf(1.0) == kAcceptAll);
  static_assert(AcceptOf(2.0) == kAcceptAll);
  static_assert(AcceptOf(0.5) == 0x7FFFFFFF);  // 2^31 of 2^32 draws
  static_assert(AcceptOf(0x1.0p-32) == 0);     // one draw
  static_assert(AcceptOf(0x1.0p-31) == 1);
  static_assert(AcceptOf(0.0) == 0);
  static_assert(AcceptOf(-1.0) == 0);
  CHECK(AcceptOf(std::nextafter(1.0, 0.0)) == kAcceptAll);
  CHECK(AcceptOf(std::nan("")) == kAcceptAll);
}

TEST_CASE("a crowded table rejects new contexts after a limited number of probes") {
  auto gate = std::make_unique<GateTable>();
  for (std::uint32_t i = 0; i < kGateMaxProbe; ++i) {
    CHECK(gate->Publish(5 + std::uint64_t{kGateContexts} * (i + 1), i));
  }
  CHECK_FALSE(gate->Publish(5 + std::uint64_t{kGateContexts} * 1000, 1));
  CHECK(gate->Find(5 + std::uint64_t{kGateContexts} * 1000) == kNoSlot);
}

TEST_CASE("a half-full table finds every published key") {
  auto gate = std::make_unique<GateTable>();
  std::uint32_t refused = 0;
  for (std::uint64_t i = 0; i < kGateContexts / 2; ++i) {
    refused += !gate->Publish(MixKeys(i, 1), static_cast<std::uint32_t>(i % 1000));
  }
  CHECK(refused == 0);
  for (std::uint64_t i = 0; i < kGateContexts / 2; ++i) {
    CHECK(gate->Find(MixKeys(i, 1)) == i % 1000);
  }
}

}  // namespace
}  // namespace stemtap::shm
