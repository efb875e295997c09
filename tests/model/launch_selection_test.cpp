// SPDX-License-Identifier: Apache-2.0
#include "model/launch_selection.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/profile.h"

namespace stemtap::model {
namespace {

LaunchSelection Only(const std::string& names, bool by_range = false) {
  LaunchSelection selection;
  selection.by_range = by_range;
  selection.only_range = names;
  return selection;
}

// Returns the range that a launch counts to, or "outside".
std::string Counted(const LaunchSelection& selection, const std::string& path) {
  const CountedRange counted = CountedRangeOf(selection, path);
  return counted.is_selected ? std::string(counted.range) : "outside";
}

TEST_CASE("without options, launches have no range; with --ranges, they have the whole path") {
  CHECK(Counted({}, "decode/attention").empty());
  LaunchSelection ranges;
  ranges.by_range = true;
  CHECK(Counted(ranges, "decode/attention") == "decode/attention");
  CHECK(Counted(ranges, "").empty());
}

TEST_CASE("--only-range selects by the innermost listed range") {
  CHECK(Counted(Only("decode"), "decode") == "decode");
  CHECK(Counted(Only("decode"), "serve/decode/attention") == "decode");
  CHECK(Counted(Only("decode"), "decoder") == "outside");
  CHECK(Counted(Only("decode"), "my decode") == "outside");
  CHECK(Counted(Only("decode"), "lib:decode") == "outside");
  CHECK(Counted(Only("lib:decode"), "serve/lib:decode") == "lib:decode");
  CHECK(Counted(Only("decode"), "") == "outside");
  CHECK(Counted(Only("serve,decode"), "serve/decode") == "decode");
  CHECK(Counted(Only("decode,serve"), "decode/serve") == "serve");
  CHECK(Counted(Only("serve/decode"), "serve/decode/mlp") == "serve/decode");
  CHECK(Counted(Only("serve/decode"), "serve/x/decode") == "outside");
  // Two that end at the same place: the longer one says more.
  CHECK(Counted(Only("decode,serve/decode"), "serve/decode") == "serve/decode");
  // A range that is open twice.
  CHECK(Counted(Only("step,layer"), "step/layer/step") == "step");
  CHECK(Counted(Only("decode", true), "serve/decode/mlp") == "serve/decode/mlp");
  CHECK(Counted(Only("decode", true), "serve/prefill") == "outside");
}

TEST_CASE("steps are selected from the first one, in the given number") {
  const shm::StepWindow all;
  CHECK(all.Contains(shm::kNoStep));
  CHECK(all.Contains(7));
  const shm::StepWindow window = {10, 5};
  CHECK_FALSE(window.Contains(shm::kNoStep));
  CHECK_FALSE(window.Contains(9));
  CHECK(window.Contains(10));
  CHECK(window.Contains(14));
  CHECK_FALSE(window.Contains(15));
  const shm::StepWindow from = {10, 0};
  CHECK(from.Contains(1'000'000'000'000));
  CHECK_FALSE(from.Contains(shm::kNoStep));
  CHECK_FALSE(shm::StepWindow{0, 1}.Contains(shm::kNoStep));
  // The last steps of a long run do not wrap.
  CHECK_FALSE(shm::StepWindow{1, 5}.Contains(0));
}

TEST_CASE("options of a selection are listed only if they are set, and read back") {
  OptionList listed;
  AppendOptions({}, listed);
  CHECK(listed.empty());
  LaunchSelection selection = Only("a,b", true);
  selection.steps = {3, 4};
  AppendOptions(selection, listed);
  const LaunchSelection read = SelectionOf(listed);
  CHECK(read.by_range);
  CHECK(read.only_range == "a,b");
  CHECK(read.steps.first == 3);
  CHECK(read.steps.count == 4);
}

// Marked is a profile of which each row has a range and a step.
class Marked : public ProfileReader {
 private:
  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) override {
    batch.records.clear();
    for (; next_ < 8 && batch.records.size() < limit; ++next_) {
      shm::KernelRecord record;
      record.name_id = names_.Intern("k", 0, next_ % 2 == 0 ? "decode/a" : "prefill");
      record.duration_ns = next_ + 1;
      batch.records.push_back(record);
      batch.steps.push_back(next_ / 2);
    }
    return batch.records.size();
  }
  bool Restart() override {
    next_ = 0;
    return true;
  }
  std::uint64_t next_ = 0;
};

struct Row {
  std::string range;
  bool is_outside;
  bool operator==(const Row&) const = default;
};

std::vector<Row> RowsOf(ProfileReader& reader, std::size_t batch) {
  std::vector<Row> rows;
  ProfileBatch read;
  while (reader.Read(read, batch).value() != 0) {
    for (const shm::KernelRecord& record : read.records) {
      rows.push_back({std::string(reader.names().range(record.name_id)),
                      (record.flags & shm::kFlagOutside) != 0});
    }
  }
  return rows;
}

TEST_CASE("a recorded run is read with the selected ranges and steps") {
  for (const std::size_t batch : {1, 3, 100}) {
    const auto plain = SelectLaunches(std::make_unique<Marked>(), {});
    CHECK(RowsOf(*plain, batch) == std::vector<Row>(8, {"", false}));
    CHECK(plain->names().size() == 1);
    LaunchSelection selection = Only("decode");
    selection.steps = {1, 2};
    const auto some = SelectLaunches(std::make_unique<Marked>(), selection);
    std::vector<Row> expected;
    for (int i = 0; i < 8; ++i) {
      const bool in_range = i % 2 == 0;
      const bool in_step = i / 2 == 1 || i / 2 == 2;
      expected.push_back({in_range ? "decode" : "", !in_range || !in_step});
    }
    CHECK(RowsOf(*some, batch) == expected);
    REQUIRE(some->Rewind());
    CHECK(RowsOf(*some, batch) == expected);
  }
}

}  // namespace
}  // namespace stemtap::model
