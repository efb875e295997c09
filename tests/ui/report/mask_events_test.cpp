// SPDX-License-Identifier: Apache-2.0
#include "ui/report/mask_events.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "base/memory_source.h"

namespace stemtap::ui {
namespace {

std::string Line(const char* kind, std::uint64_t index, const char* kernel = "gemm") {
  return fmt::format(
      "{{\"event\":\"{}\",\"index\":{},\"kernel\":\"{}\",\"occurrence\":{},\"cluster\":1,"
      "\"time_ns\":{}}}\n",
      kind, index, kernel, index / 2, 1732180000123456789 + index);
}

model::PlanKernel KernelOf(const char* name, std::vector<std::uint64_t> samples = {}) {
  model::PlanKernel kernel;
  kernel.name = name;
  kernel.clusters.emplace_back();
  for (const std::uint64_t index : samples) {
    kernel.clusters[0].samples.emplace_back().index = index;
  }
  return kernel;
}

model::Plan PlanOf(std::vector<model::PlanKernel> kernels) {
  model::Plan plan;
  plan.kernels = std::move(kernels);
  return plan;
}

Result<MaskEvents> Read(const std::string& text,
                        const model::Plan& plan = PlanOf({KernelOf("gemm")}),
                        std::size_t most = MaskEvents::kMax) {
  return ReadMask(std::make_unique<MemorySource>("mask.ndjson", text), PlanPositions(plan), most);
}

TEST_CASE("events keep their order and all fields") {
  const model::Plan plan = PlanOf({KernelOf("relu"), KernelOf("gemm")});
  const auto mask = Read(Line("capture", 7) + Line("close", 9, "relu") + Line("reopen", 11) +
                             Line("top_up", 13, "gone"),
                         plan);
  REQUIRE(mask.ok());
  const std::vector<ShownEvent>& events = mask.value().events;
  REQUIRE(events.size() == 4);
  CHECK(mask.value().left_out == 0);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(events[i].kind == i);
    CHECK(events[i].index == 7 + 2 * i);
    CHECK(events[i].occurrence == (7 + 2 * i) / 2);
    CHECK(events[i].cluster == 1);
    CHECK(events[i].time_ns == 1732180000123456789 + 7 + 2 * i);
  }
  CHECK(events[0].kernel == 1);
  CHECK(events[1].kernel == 0);
  CHECK(!events[3].kernel.has_value());
}

TEST_CASE("events without a time and events of later versions are read") {
  const auto mask = Read(
      R"({"event":"capture","index":1,"kernel":"gemm","occurrence":0,"cluster":0,"time_ns":null,"imputed":true,"new":[1]})");
  REQUIRE(mask.ok());
  REQUIRE(mask.value().events.size() == 1);
  CHECK(!mask.value().events[0].time_ns.has_value());
}

TEST_CASE("if several kernels have the same name, only a capture that is a sample is certain") {
  const model::Plan plan =
      PlanOf({KernelOf("gemm", {3}), KernelOf("relu"), KernelOf("gemm", {5, 8})});
  const auto mask = Read(Line("capture", 5) + Line("capture", 4) + Line("close", 5) +
                             Line("capture", 3) + Line("capture", 5, "relu"),
                         plan);
  REQUIRE(mask.ok());
  const std::vector<ShownEvent>& events = mask.value().events;
  CHECK(events[0].kernel == 2);
  CHECK(!events[1].kernel.has_value());
  CHECK(!events[2].kernel.has_value());
  CHECK(events[3].kernel == 0);
  CHECK(events[4].kernel == 1);
}

TEST_CASE("too many events are thinned evenly, and all events of rare kinds are kept") {
  std::string text;
  std::uint64_t captures = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    text += Line("capture", i);
    ++captures;
    if (i % 1000 == 0) text += Line("close", i);
  }
  const auto mask = Read(text, PlanOf({KernelOf("gemm")}), 1000);
  REQUIRE(mask.ok());
  std::vector<std::uint64_t> kept;
  std::size_t closes = 0;
  std::uint64_t last = 0;
  for (const ShownEvent& event : mask.value().events) {
    CHECK(event.index >= last);
    last = event.index;
    if (event.kind == 0) kept.push_back(event.index);
    closes += event.kind == 1;
  }
  CHECK(closes == 100);
  CHECK(mask.value().events.size() <= 1000);
  CHECK(kept.size() >= 450);
  CHECK(mask.value().left_out + mask.value().events.size() == captures + 100);
  std::set<std::uint64_t> steps;
  for (std::size_t i = 1; i < kept.size(); ++i) steps.insert(kept[i] - kept[i - 1]);
  CHECK(steps.size() == 1);
  CHECK(kept.front() == 0);
}

TEST_CASE("all events up to the limit are kept, and more events are thinned") {
  std::string text;
  for (std::uint64_t i = 0; i < 64; ++i) text += Line("capture", i);
  auto mask = Read(text, PlanOf({}), 64);
  REQUIRE(mask.ok());
  CHECK(mask.value().events.size() == 64);
  CHECK(mask.value().left_out == 0);
  mask = Read(text + Line("capture", 64), PlanOf({}), 64);
  REQUIRE(mask.ok());
  CHECK(mask.value().events.size() == 33);
  CHECK(mask.value().left_out == 32);
}

TEST_CASE("a mask without events is valid") {
  const auto mask = Read("");
  REQUIRE(mask.ok());
  CHECK(mask.value().events.empty());
}

TEST_CASE("an incomplete last line is left out, and a complete one needs no line end") {
  const std::string whole = Line("capture", 1);
  for (std::size_t size = 1; size <= whole.size(); ++size) {
    CAPTURE(size);
    const auto mask = Read(Line("capture", 0) + whole.substr(0, size));
    REQUIRE(mask.ok());
    const bool is_cut = size < whole.size() - 1;
    CHECK(mask.value().is_cut == is_cut);
    CHECK(mask.value().events.size() == (is_cut ? 1 : 2));
    CHECK(mask.value().left_out == 0);
  }
}

TEST_CASE("a line that is not an event is an error with its number") {
  const std::string good = Line("capture", 1);
  const struct {
    std::string text;
    const char* word;
  } cases[] = {
      {good.substr(0, good.size() / 2) + "\n" + good, "is not JSON"},
      {"\n", "is not JSON"},
      {"[]\n", "is not an object"},
      {"{}\n", "event is"},
      {Line("steal", 1), "event is 'steal'"},
      {R"({"event":"capture","index":-1,"kernel":"a","occurrence":0,"cluster":0,"time_ns":1})",
       "index is"},
      {R"({"event":"capture","index":1.5,"kernel":"a","occurrence":0,"cluster":0,"time_ns":1})",
       "index is"},
      {R"({"event":"capture","index":1,"kernel":7,"occurrence":0,"cluster":0,"time_ns":1})",
       "kernel is"},
      {R"({"event":"capture","index":1,"kernel":"a","cluster":0,"time_ns":1})", "occurrence is"},
      {R"({"event":"capture","index":1,"kernel":"a","occurrence":0,"time_ns":1})", "cluster is"},
      {R"({"event":"capture","index":1,"kernel":"a","occurrence":0,"cluster":0})", "time_ns is"},
      {R"({"event":"capture","index":1,"kernel":"a","occurrence":0,"cluster":0,"time_ns":"x"})",
       "time_ns is"},
      {std::string("a\0b\n", 4), "NUL"},
      {std::string(5 << 20, 'x'), "more than"},
      {"{\"event\":\"capture\",\"index\":1,\"kernel\":\"\xFF\",\"occurrence\":0}\n", "is not JSON"},
      {std::string(100'000, '[') + "\n", "is not JSON"},
  };
  for (const auto& wrong : cases) {
    CAPTURE(wrong.word);
    const auto mask = Read(good + wrong.text);
    REQUIRE(!mask.ok());
    CAPTURE(mask.error().message);
    CHECK(mask.error().message.starts_with("mask.ndjson:2: "));
    CHECK(mask.error().message.find(wrong.word) != std::string::npos);
  }
}

}  // namespace
}  // namespace stemtap::ui
