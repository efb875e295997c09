// SPDX-License-Identifier: Apache-2.0
#include "model/profile.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stemtap::model {
namespace {

// Returns 40,000 rows of two alternating names and one metric, followed by an optional error.
class CountingReader : public ProfileReader {
 public:
  explicit CountingReader(bool fails) : fails_(fails) {
    metric_names_ = {"row"};
    names_.Intern("even");
    names_.Intern("odd");
  }

  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) override {
    batch.records.clear();
    batch.metrics.assign(1, {});
    while (batch.records.size() < limit && row_ < 40000) {
      shm::KernelRecord record;
      record.duration_ns = row_;
      record.name_id = static_cast<std::uint32_t>(row_ % 2);
      batch.records.push_back(record);
      batch.metrics[0].push_back(static_cast<double>(row_));
      ++row_;
    }
    if (batch.records.empty()) {
      if (fails_) return Error{"f:1: broken, expected whole"};
      warnings_ = {"a warning"};
    }
    return batch.records.size();
  }

 private:
  bool fails_;
  std::uint64_t row_ = 0;
};

TEST_CASE("a loaded profile contains all rows of the reader") {
  CountingReader reader(false);
  const Result<Profile> loaded = LoadProfile(reader);
  REQUIRE(loaded.ok());
  const Profile& profile = loaded.value();
  REQUIRE(profile.records.size() == 40000);
  CHECK(profile.metric_names == std::vector<std::string>{"row"});
  REQUIRE(profile.metrics.size() == 1);
  REQUIRE(profile.metrics[0].size() == 40000);
  CHECK(profile.metrics[0][39999] == 39999.0);
  CHECK(profile.records[39999].duration_ns == 39999);
  REQUIRE(profile.names.size() == 2);
  CHECK(profile.names.name(profile.records[39999].name_id) == "odd");
  CHECK(profile.warnings == std::vector<std::string>{"a warning"});
}

TEST_CASE("a profile in memory is read with its ranges and steps") {
  Profile profile;
  profile.records.resize(3);
  profile.records[0].name_id = profile.names.Intern("k", 0, "a");
  profile.records[1].name_id = profile.records[2].name_id = profile.names.Intern("k");
  profile.steps = {4, shm::kNoStep, 5};
  profile.marks = {true, true};
  CHECK(profile.names.CountWithoutRanges() == 1);
  const Result<Profile> copy = LoadProfile(*ReadProfile(profile));
  REQUIRE(copy.ok());
  CHECK(copy.value().marks == profile.marks);
  CHECK(copy.value().steps == profile.steps);
  CHECK(copy.value().names.range(0) == "a");
  CHECK(copy.value().names.range(1).empty());
}

TEST_CASE("an error of the reader is returned") {
  CountingReader reader(true);
  const Result<Profile> loaded = LoadProfile(reader);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().message == "f:1: broken, expected whole");
}

// A rewindable reader of launches with the given durations.
class DurationReader : public ProfileReader {
 public:
  explicit DurationReader(std::vector<std::uint64_t> durations) : durations_(std::move(durations)) {
    names_.Intern("k");
  }

 private:
  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t) override {
    batch.records.clear();
    for (; next_ < durations_.size(); ++next_) {
      batch.records.emplace_back().duration_ns = durations_[next_];
    }
    return batch.records.size();
  }
  bool Restart() override {
    next_ = 0;
    return true;
  }

  std::vector<std::uint64_t> durations_;
  std::size_t next_ = 0;
};

TEST_CASE("durations whose sum exceeds 63 bits are rejected at the launch that exceeds it") {
  ProfileBatch batch;
  DurationReader fits({RunTime::kMaxNs - 7, 3, 4});
  CHECK(fits.Read(batch, 9).ok());
  // Rows that were read before are not added twice.
  CHECK(fits.Rewind());
  CHECK(fits.Read(batch, 9).ok());

  const std::uint64_t quarter = std::uint64_t{1} << 62;
  DurationReader wraps({100, quarter, quarter, quarter, quarter, 200});
  wraps.SetSource("four.csv");
  const Result<std::size_t> read = wraps.Read(batch, 9);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().message ==
        "four.csv: launch 2: duration_ns is 4611686018427387904, and the durations up to it add up "
        "to more than 9223372036854775807 ns (292 years); expected times in ns");
}

TEST_CASE("time counts perturbed launches with the largest mean that can be imputed to them") {
  RunTime time;
  CHECK(time.Add(10));
  CHECK(time.AddPerturbed(RunTime::kMaxNs / 4));
  CHECK(time.AddPerturbed(1));
  CHECK(time.AddPerturbed(1));
  // Four launches of a quarter each, plus 10 ns.
  CHECK_FALSE(time.AddPerturbed(1));
  // A rejected duration is not added.
  CHECK(time.Add(RunTime::kMaxNs / 8));
  CHECK_FALSE(time.Add(RunTime::kMaxNs / 2));
}

}  // namespace
}  // namespace stemtap::model
