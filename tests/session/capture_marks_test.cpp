// SPDX-License-Identifier: Apache-2.0
#include "session/capture_marks.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <memory>
#include <string>

#include "session/engine.h"
#include "session/mask_writer.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

TEST_CASE("launches have the marks that were added") {
  CaptureMarks marks;
  marks.Add(7, {"decode", 12});
  marks.Add(8, {"", 13});
  marks.Add(9, {"decode", shm::kNoStep});
  marks.Add(10, {});
  CHECK(marks.Of(7).range == "decode");
  CHECK(marks.Of(7).step == 12);
  CHECK(marks.Of(8).range.empty());
  CHECK(marks.Of(8).step == 13);
  CHECK(marks.Of(9).range == "decode");
  CHECK(marks.Of(9).step == shm::kNoStep);
  CHECK(marks.Of(10).empty());
  CHECK(marks.Of(11).empty());
}

TEST_CASE("the total length of all paths has a maximum") {
  CaptureMarks marks;
  constexpr std::uint64_t kPaths = 65536;  // 64 MiB of paths of the maximum length
  const auto path = [](std::uint64_t i) {
    std::string text = std::to_string(i);
    text.resize(shm::kMaxRangeBytes, '.');
    return text;
  };
  for (std::uint64_t i = 0; i <= kPaths; ++i) marks.Add(i, {path(i), i});
  CHECK(marks.Of(0).range == path(0));
  CHECK(marks.Of(kPaths - 1).range == path(kPaths - 1));
  CHECK(marks.Of(kPaths).range == "(other)");
  CHECK(marks.Of(kPaths).step == kPaths);
}

TEST_CASE("the mask and the plan contain the marks of captures as valid JSON") {
  const test::TempDir folder;
  const std::string path = (folder / "mask.ndjson").string();
  auto mask = MaskWriter::Open(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), path);
  REQUIRE(mask.ok());
  auto gate = std::make_unique<shm::GateTable>();
  WorkerPool pool(1);
  Engine engine(sampling::SamplingOptions{}, *gate, GateAsked::kAtLaunch, 0, pool);
  engine.AddObserver(mask.value());
  const auto launch = [&](const char* name, const NamedMark& mark, bool captured = true) {
    shm::KernelRecord record;
    record.name_id = engine.AddKernel(name);
    record.duration_ns = 100;
    record.flags = captured ? shm::kFlagCaptured | shm::kFlagExploratory : 0;
    engine.Push(record, 0, mark);
  };
  launch("both", {"a/\"b\"\n\xFF", 7});
  launch("both", {"not captured", 8}, false);
  launch("range", {"only", shm::kNoStep});
  launch("step", {"", 0});
  launch("none", {});
  const std::string plan = model::PlanToJson(engine.Finish());
  CHECK(mask.value().Close().ok());
  const std::string lines = test::ReadFile(path);
  INFO(lines);
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(lines, R"("time_ns":0,"range":"a/\"b\"\n�","step":7})"));
  CHECK(has(lines, R"("time_ns":0,"range":"only"})"));
  CHECK(has(lines, R"("time_ns":0,"step":0})"));
  CHECK(has(lines, R"("kernel":"none","occurrence":0,"cluster":0,"time_ns":0})"));
  INFO(plan);
  CHECK(has(plan, R"("duration_ns": 100, "range": "a/\"b\"\n�", "step": 7, "weight")"));
  CHECK(has(plan, R"("duration_ns": 100, "range": "only", "weight")"));
  CHECK(has(plan, R"("duration_ns": 100, "step": 0, "weight")"));
  CHECK_FALSE(has(lines + plan, "not captured"));
}

}  // namespace
}  // namespace stemtap::session
