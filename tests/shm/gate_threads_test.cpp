// SPDX-License-Identifier: Apache-2.0
// These tests also run under the thread sanitizer.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "shm/gate_table.h"
#include "shm/launch_draw.h"

namespace stemtap::shm {
namespace {

TEST_CASE("concurrent threads spend every credit once while the writer grants credits") {
  auto gate = std::make_unique<GateTable>();
  constexpr std::uint32_t kCredits = 20000;
  std::atomic<std::uint32_t> taken{0};
  std::vector<std::thread> spenders;
  for (int t = 0; t < 4; ++t) {
    spenders.emplace_back([&] {
      while (taken.load() < kCredits) {
        if (gate->TrySpend(9, kAcceptAll)) taken.fetch_add(1);
      }
    });
  }
  for (std::uint32_t granted = 1; granted <= kCredits; ++granted) gate->Grant(9, granted);
  for (std::thread& t : spenders) t.join();
  CHECK(taken.load() == kCredits);
  CHECK(gate->spent(9) == kCredits);
}

TEST_CASE(
    "concurrent threads that draw spend every credit once and never exceed the acceptance rate") {
  auto gate = std::make_unique<GateTable>();
  constexpr std::uint32_t kCredits = 2000;
  constexpr std::uint32_t kAccept = AcceptOf(0.1);
  std::atomic<std::uint32_t> taken{0};
  std::atomic<std::uint64_t> launches{0};
  std::atomic<std::uint32_t> overspent{0};
  std::atomic<bool> wrong{false};
  const LaunchDraws draws(1);
  std::vector<std::thread> spenders;
  for (int t = 0; t < 4; ++t) {
    spenders.emplace_back([&] {
      while (taken.load() < kCredits) {
        const std::uint32_t draw = draws(launches.fetch_add(1));
        if (!gate->TrySpend(9, draw)) continue;
        taken.fetch_add(1);
        // The acceptance rate of the empty slot must not apply to the first credit.
        if (draw > kAccept) wrong = true;
        if (gate->spent(9) > kCredits) overspent.fetch_add(1);
      }
    });
  }
  for (std::uint32_t granted = 1; granted <= kCredits; ++granted) {
    gate->Grant(9, granted, kAccept);
  }
  for (std::thread& t : spenders) t.join();
  CHECK(taken.load() == kCredits);
  CHECK(gate->spent(9) == kCredits);
  CHECK(overspent.load() == 0);
  CHECK_FALSE(wrong.load());
}

TEST_CASE("a reader finds a key with its published slot or does not find it") {
  auto gate = std::make_unique<GateTable>();
  constexpr std::uint64_t kKeys = 20000;
  std::atomic<bool> wrong{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      for (std::uint64_t key = 1; key <= kKeys && !wrong.load();) {
        const std::uint32_t slot = gate->Find(MixKeys(key, 0));
        if (slot == kNoSlot) {
          std::this_thread::yield();
          continue;
        }
        if (slot != key % 5000) wrong = true;
        ++key;
      }
    });
  }
  for (std::uint64_t key = 1; key <= kKeys; ++key) {
    if (!gate->Publish(MixKeys(key, 0), static_cast<std::uint32_t>(key % 5000))) wrong = true;
  }
  for (std::thread& t : readers) t.join();
  CHECK_FALSE(wrong.load());
}

}  // namespace
}  // namespace stemtap::shm
