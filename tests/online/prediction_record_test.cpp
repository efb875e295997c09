// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <map>

#include "online/context_predictor.h"

namespace stemtap::online {
namespace {

using Shares = std::map<std::uint32_t, double>;

Shares SharesOf(const PredictionRecord& record, std::uint32_t bin) {
  Shares shares;
  record.ForEach(bin, [&](std::uint32_t predicted, double share) { shares[predicted] += share; });
  return shares;
}

TEST_CASE("predictions of a bin have the shares of their launches") {
  PredictionRecord record;
  for (const std::uint32_t predicted : {70u, 70u, 90u, PredictionRecord::kNone}) {
    record.Add(100, predicted);
  }
  CHECK(SharesOf(record, 100) == Shares{{70, 0.5}, {90, 0.25}, {PredictionRecord::kNone, 0.25}});
}

TEST_CASE("the latest launches of a bin replace the earlier ones") {
  PredictionRecord record;
  for (int i = 0; i < 1000; ++i) record.Add(100, 70);
  for (std::size_t i = 0; i < PredictionRecord::kLatest / 2; ++i) record.Add(100, 90);
  CHECK(SharesOf(record, 100) == Shares{{70, 0.5}, {90, 0.5}});
  for (std::size_t i = 0; i < PredictionRecord::kLatest / 2; ++i) record.Add(100, 90);
  CHECK(SharesOf(record, 100) == Shares{{90, 1.0}});
}

TEST_CASE("each bin has its own predictions for any order of bins") {
  PredictionRecord record;
  CHECK(SharesOf(record, 500).empty());
  for (const std::uint32_t bin : {500u, 900u, 20u, 501u, 0u}) record.Add(bin, bin + 1);
  for (const std::uint32_t bin : {500u, 900u, 20u, 501u, 0u}) {
    CAPTURE(bin);
    CHECK(SharesOf(record, bin) == Shares{{bin + 1, 1.0}});
  }
  for (const std::uint32_t bin : {1u, 499u, 502u, 901u, 100000u}) {
    CAPTURE(bin);
    CHECK(SharesOf(record, bin).empty());
  }
}

}  // namespace
}  // namespace stemtap::online
