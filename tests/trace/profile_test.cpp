// SPDX-License-Identifier: Apache-2.0
#include "trace/profile.h"

#include <doctest/doctest.h>

#include <string>

namespace stemtap {
namespace {

// 40,000 rows of two alternating names and one metric, then, if asked, an error.
class CountingReader : public ProfileReader {
 public:
  explicit CountingReader(bool fails) : fails_(fails) {
    metric_names_ = {"row"};
    names_.Intern("even");
    names_.Intern("odd");
  }

  Result<std::size_t> Read(ProfileBatch& batch, std::size_t limit) override {
    batch.records.clear();
    batch.metrics.assign(1, {});
    while (batch.records.size() < limit && row_ < 40000) {
      wire::KernelRecord record;
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

TEST_CASE("a profile is all that the reader has") {
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

TEST_CASE("an error of the reader is the answer") {
  CountingReader reader(true);
  const Result<Profile> loaded = LoadProfile(reader);
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().message == "f:1: broken, expected whole");
}

}  // namespace
}  // namespace stemtap
