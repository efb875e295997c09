// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/launch_fields.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "formats/importers/recorded_launches.h"
#include "model/profile.h"

namespace stemtap::formats {
namespace {

// Returns one launch per stream id, in order of start.
model::Profile LaunchOn(std::initializer_list<std::string_view> ids) {
  StreamNumbers streams;
  RecordedLaunches launches;
  std::uint64_t start_ns = 1;
  for (const std::string_view id : ids) {
    shm::KernelRecord record = RecordedLaunches::Unknown();
    record.start_ns = start_ns++;
    if (!id.empty()) record.stream = streams.Of(id);
    launches.Add(record, "k");
  }
  streams.Finish("f", launches);
  launches.Finish("f");
  return model::LoadProfile(launches).value();
}

std::vector<std::uint32_t> StreamsOf(const model::Profile& profile) {
  std::vector<std::uint32_t> streams;
  for (const shm::KernelRecord& record : profile.records) streams.push_back(record.stream);
  return streams;
}

bool WarnsOfIds(const model::Profile& profile, std::string_view id) {
  for (const std::string& warning : profile.warnings) {
    if (warning.starts_with("f: stream ids such as '" + std::string(id) +
                            "' are not small whole")) {
      return true;
    }
  }
  return false;
}

TEST_CASE("streams with small numbers keep them") {
  const model::Profile profile = LaunchOn({"7", "0", "", "2147483647", "7"});
  CHECK(StreamsOf(profile) == std::vector<std::uint32_t>{7, 0, shm::kUnknown32, 2147483647, 7});
  for (const std::string& warning : profile.warnings) {
    CHECK(warning.find("stream ids") == std::string::npos);
  }
}

TEST_CASE("if one stream has another id, all are numbered in order of appearance") {
  for (const std::string_view id :
       {"2147483648", "4294967295", "139690710949888", "18446744073709551615",
        "99999999999999999999", "-1", "0x7f21", "default", "7.5"}) {
    CAPTURE(id);
    const model::Profile profile = LaunchOn({"7", id, "0", "", "7", id});
    CHECK(StreamsOf(profile) == std::vector<std::uint32_t>{0, 1, 2, shm::kUnknown32, 0, 1});
    CHECK(WarnsOfIds(profile, id));
  }
}

TEST_CASE("every number of 64 bits is a stream of its own") {
  StreamNumbers streams;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(streams.Of(std::int64_t{5}) == 5);
  CHECK(streams.Of(least) == streams.Of(least));
  CHECK(streams.Of(least) != streams.Of(least + 1));
  CHECK(streams.Of(std::int64_t{-1}) == streams.Of("-1"));
}

}  // namespace
}  // namespace stemtap::formats
