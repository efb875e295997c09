// SPDX-License-Identifier: Apache-2.0
#include "wire/gate_table.h"

#include <doctest/doctest.h>

#include <memory>

#include "wire/context_key.h"

namespace stemtap::wire {
namespace {

TEST_CASE("an empty table knows nothing and gives nothing") {
  auto gate = std::make_unique<GateTable>();
  CHECK(gate->Find(1) == kNoSlot);
  CHECK_FALSE(gate->TrySpend(1));
}

TEST_CASE("a context can be pointed elsewhere") {
  auto gate = std::make_unique<GateTable>();
  CHECK(gate->Publish(42, 7));
  CHECK(gate->Find(42) == 7);
  CHECK(gate->Publish(42, 9));
  CHECK(gate->Find(42) == 9);
  CHECK(gate->Find(42 + kGateContexts) == kNoSlot);  // same home, other key
}

TEST_CASE("credits are spent once each, and can be withdrawn") {
  auto gate = std::make_unique<GateTable>();
  gate->Grant(3, 2);
  CHECK(gate->TrySpend(3));
  CHECK(gate->TrySpend(3));
  CHECK_FALSE(gate->TrySpend(3));
  gate->Grant(3, 5);
  CHECK(gate->TrySpend(3));
  gate->Grant(3, 3);  // two credits nobody has spent are taken back
  CHECK_FALSE(gate->TrySpend(3));
  CHECK(gate->spent(3) == 3);
}

TEST_CASE("the counters may wrap") {
  auto gate = std::make_unique<GateTable>();
  gate->Grant(1, 0xFFFFFFFF);
  CHECK_FALSE(gate->TrySpend(1));  // 2^32 - 1 above 0 reads as one below: nothing to spend
  gate->Grant(1, 0);
  gate->Grant(1, 1);
  CHECK(gate->TrySpend(1));
}

TEST_CASE("a crowded table refuses rather than probing without end") {
  auto gate = std::make_unique<GateTable>();
  for (std::uint32_t i = 0; i < kGateMaxProbe; ++i) {
    CHECK(gate->Publish(5 + std::uint64_t{kGateContexts} * (i + 1), i));
  }
  CHECK_FALSE(gate->Publish(5 + std::uint64_t{kGateContexts} * 1000, 1));
  CHECK(gate->Find(5 + std::uint64_t{kGateContexts} * 1000) == kNoSlot);
}

TEST_CASE("half full, every key that was taken in is found") {
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
}  // namespace stemtap::wire
