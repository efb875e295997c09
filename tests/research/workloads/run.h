// SPDX-License-Identifier: Apache-2.0
// Reads a generated run completely and compares two runs.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/profile.h"
#include "shm/record.h"

namespace stemtap::research {

struct Run {
  std::vector<shm::KernelRecord> records;
  std::unique_ptr<model::ProfileReader> reader;

  const std::string& name(std::size_t i) const { return reader->names().name(records[i].name_id); }
};

// Reads the run with at most `limit` records per request.
inline Run ReadWhole(std::unique_ptr<model::ProfileReader> reader, std::size_t limit) {
  Run run;
  run.reader = std::move(reader);
  for (model::ProfileBatch batch;;) {
    const Result<std::size_t> read = run.reader->Read(batch, limit);
    REQUIRE(read.ok());
    REQUIRE(read.value() == batch.records.size());
    REQUIRE(batch.metrics.empty());
    if (read.value() == 0) return run;
    run.records.insert(run.records.end(), batch.records.begin(), batch.records.end());
  }
}

inline bool SameBytes(const Run& a, const Run& b) {
  return a.records.size() == b.records.size() &&
         std::memcmp(a.records.data(), b.records.data(),
                     a.records.size() * sizeof(shm::KernelRecord)) == 0;
}

// Compares everything except the times.
inline bool SameLaunches(const Run& a, const Run& b) {
  if (a.records.size() != b.records.size()) return false;
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    shm::KernelRecord x = a.records[i];
    shm::KernelRecord y = b.records[i];
    x.start_ns = y.start_ns = x.duration_ns = y.duration_ns = 0;
    if (std::memcmp(&x, &y, sizeof x) != 0 || a.name(i) != b.name(i)) return false;
  }
  return true;
}

inline std::uint64_t Fingerprint(const Run& run) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const shm::KernelRecord& r : run.records) {
    for (const std::uint64_t value : {r.start_ns, r.duration_ns, std::uint64_t{r.name_id},
                                      std::uint64_t{r.grid[0]}, std::uint64_t{r.grid[1]}}) {
      hash = (hash ^ value) * 0x100000001b3u;
    }
  }
  return hash;
}

}  // namespace stemtap::research
