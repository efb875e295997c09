// SPDX-License-Identifier: Apache-2.0
// Tests that every profiler's file of the same synthetic run in tests/data/formats (see make.py
// there) is read as the same run, except for fields that its format does not contain.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/byte_source.h"
#include "base/memory_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace stemtap::formats {
namespace {

namespace fs = std::filesystem;

const fs::path kSamples = test::SourceDir() / "tests/data/formats";

model::Profile Load(const fs::path& path) {
  CAPTURE(path);
  Result<std::unique_ptr<model::ProfileReader>> reader = OpenProfile(path.string());
  if (!reader.ok()) FAIL(reader.error().message);
  Result<model::Profile> profile = model::LoadProfile(*reader.value());
  if (!profile.ok()) FAIL(profile.error().message);
  return std::move(profile).value();
}

bool Holds(const shm::KernelRecord& record, const shm::KernelRecord& truth) {
  return (record.grid[0] == shm::kUnknownExtent ||
          (std::equal(record.grid, record.grid + 3, truth.grid) &&
           std::equal(record.block, record.block + 3, truth.block))) &&
         (record.start_ns == shm::kUnknownTime || record.start_ns == truth.start_ns) &&
         (record.stream == shm::kUnknown32 || record.stream == truth.stream) &&
         (record.device == shm::kUnknown16 || record.device == truth.device);
}

TEST_CASE("a run in the format of every profiler is read as the same run") {
  const model::Profile truth = Load(kSamples / "csv/sample.csv");
  REQUIRE(truth.records.size() == 12);
  std::set<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(kSamples)) {
    if (!entry.is_regular_file() || entry.path().parent_path() == kSamples) continue;
    CAPTURE(entry.path());
    const std::string format = entry.path().parent_path().filename().string();
    seen.insert(format);

    Result<std::unique_ptr<ByteSource>> source = OpenByteSource(entry.path().string());
    REQUIRE(source.ok());
    const Result<std::string_view> leading = source.value()->Peek(std::size_t{64} * 1024);
    REQUIRE(leading.ok());
    for (const ProfileFormat& other : ProfileFormats()) {
      CAPTURE(other.name);
      // No other format is detected in the canonical form. A table of durations accepts any header.
      if (other.name != "stem-csv") CHECK(other.detect(leading.value()) == (other.name == format));
    }

    const model::Profile profile = Load(entry.path());
    REQUIRE(profile.records.size() == truth.records.size());
    // Nsight Compute prints microseconds with two decimals.
    const std::int64_t off = format == "ncu-csv" ? 5 : 0;
    for (std::size_t i = 0; i < truth.records.size(); ++i) {
      CAPTURE(i);
      shm::KernelRecord record = profile.records[i];
      // unitrace has no numbers of streams: they are numbered from 0.
      if (entry.path().filename() == "unitrace.json") record.stream += 7;
      CHECK(profile.names.name(record.name_id) == truth.names.name(truth.records[i].name_id));
      CHECK(std::llabs(static_cast<std::int64_t>(record.duration_ns) -
                       static_cast<std::int64_t>(truth.records[i].duration_ns)) <= off);
      CHECK(Holds(record, truth.records[i]));
    }
    if (entry.path().stem() == "marked") {
      const model::Profile marked = Load(kSamples / "csv/marked.csv");
      for (std::size_t i = 0; i < marked.records.size(); ++i) {
        CHECK(profile.names.range(profile.records[i].name_id) ==
              marked.names.range(marked.records[i].name_id));
      }
      CHECK(profile.marks.ranges);
      if (format != "nsys-sqlite") CHECK(profile.steps == marked.steps);
    } else {
      CHECK(profile.marks == model::ProfileMarks{});
    }
    if (format == "ncu-csv") {
      REQUIRE(profile.metric_names.size() == 2);
      CHECK(profile.metrics[1][2] == 3000.0);
    }
  }
  // The round-trip tests cover the binary form.
  for (const ProfileFormat& format : ProfileFormats()) {
    CHECK((format.name == "stemtap" || seen.count(std::string(format.name)) == 1));
  }
}

TEST_CASE("a file that resembles another format is recognized by its header") {
  const auto format_of = [](std::string_view leading) {
    for (const ProfileFormat& format : ProfileFormats()) {
      if (format.detect(leading)) return std::string(format.name);
    }
    return std::string("none");
  };
  // A program under Nsight Compute prints JSON.
  CHECK(format_of("{\"step\": 1, \"loss\": 0.5}\n" +
                  test::ReadFile(kSamples / "ncu-csv/raw.csv")) == "ncu-csv");
  CHECK(format_of("[1]\n" + test::ReadFile(kSamples / "nvprof-csv/sample.csv")) == "nvprof-csv");
  // rocprofv3 writes counters with the columns of a trace and one row per counter.
  CHECK(format_of("\"Kernel_Name\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_"
                  "Timestamp\"\n\"k\",\"SQ_WAVES\",4,1,2\n") == "none");
}

TEST_CASE("nvprof: the program may print a line that starts with a digit") {
  const std::string sample = test::ReadFile(kSamples / "nvprof-csv/sample.csv");
  const auto read = [](const std::string& text) -> Result<model::Profile> {
    auto reader = OpenProfile(std::make_unique<MemorySource>("trace.csv", text));
    if (!reader.ok()) return reader.error();
    return model::LoadProfile(*reader.value());
  };
  const Result<model::Profile> with = read(sample + "1000 elements ok\n");
  REQUIRE(with.ok());
  CHECK(with.value().records.size() == 12);
  CHECK_FALSE(with.value().warnings.empty());
  CHECK_FALSE(read(sample + "0.26").ok());  // a truncated row
}

}  // namespace
}  // namespace stemtap::formats
