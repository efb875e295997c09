// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "e2e/session.h"
#include "formats/importers/registry.h"

namespace stemtap::test {

// Returns counts and total durations of a profile, read directly with its importer.
inline TotalsByName TotalsOfProfile(const std::filesystem::path& file) {
  TotalsByName totals;
  auto reader = formats::OpenProfile(file.string());
  REQUIRE(reader.ok());
  model::ProfileBatch batch;
  for (;;) {
    const auto read = reader.value()->Read(batch, 4096);
    REQUIRE(read.ok());
    if (read.value() == 0) return totals;
    for (const auto& record : batch.records) {
      KernelTotals& kernel = totals[reader.value()->names().name(record.name_id)];
      ++kernel.count;
      kernel.duration_ns += record.duration_ns;
    }
  }
}

}  // namespace stemtap::test
