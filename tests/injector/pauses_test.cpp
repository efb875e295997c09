// SPDX-License-Identifier: Apache-2.0
#include "control/pauses.h"

#include <doctest/doctest.h>

#include <memory>

namespace stemtap::inject {
namespace {

TEST_CASE("nothing is paused before the first pause") {
  const auto pauses = std::make_unique<Pauses>();
  CHECK_FALSE(pauses->paused());
  CHECK_FALSE(pauses->Covers(0));
  CHECK_FALSE(pauses->Covers(~std::uint64_t{0}));
}

TEST_CASE("a pause covers the times from its start to its end") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->Begin(100);
  CHECK(pauses->paused());
  CHECK_FALSE(pauses->Covers(99));
  CHECK(pauses->Covers(100));
  CHECK(pauses->Covers(1'000'000));
  pauses->End(200);
  CHECK_FALSE(pauses->paused());
  CHECK(pauses->Covers(199));
  CHECK_FALSE(pauses->Covers(200));
  pauses->Begin(300);
  CHECK_FALSE(pauses->Covers(299));
  CHECK(pauses->Covers(150));
  CHECK(pauses->Covers(300));
}

TEST_CASE("pauses do not nest") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->End(50);  // not paused
  CHECK_FALSE(pauses->Covers(60));
  pauses->Begin(100);
  pauses->Begin(150);
  pauses->End(200);
  CHECK_FALSE(pauses->paused());
  CHECK(pauses->Covers(120));
  CHECK_FALSE(pauses->Covers(250));
}

TEST_CASE("of several switches at time 0, before the recording, the last one applies") {
  const auto pauses = std::make_unique<Pauses>();
  pauses->Begin(0);
  CHECK(pauses->Covers(1));
  pauses->End(0);
  CHECK_FALSE(pauses->Covers(0));
  CHECK_FALSE(pauses->Covers(1));
  pauses->Begin(0);
  pauses->End(500);
  CHECK(pauses->Covers(499));
  CHECK_FALSE(pauses->Covers(500));
}

TEST_CASE("only the latest switches are kept") {
  const auto pauses = std::make_unique<Pauses>();
  constexpr std::uint64_t kPauses = 3 * Pauses::kTimes;
  for (std::uint64_t i = 1; i <= kPauses; ++i) {
    pauses->Begin(10 * i);
    pauses->End(10 * i + 5);
  }
  for (std::uint64_t i = kPauses - Pauses::kTimes / 2 + 1; i <= kPauses; ++i) {
    REQUIRE(pauses->Covers(10 * i + 1));
    REQUIRE_FALSE(pauses->Covers(10 * i + 6));
  }
}

}  // namespace
}  // namespace stemtap::inject
