// SPDX-License-Identifier: Apache-2.0
#include "collector/engine.h"

#include <doctest/doctest.h>

#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "support/temp_dir.h"

namespace stemtap {
namespace {

struct Decisions {
  std::string plan;
  std::string mask;
};

// 60,000 launches of 40 kernels with shapes, streams and modes, through the whole engine.
Decisions Decide(unsigned threads, std::uint64_t lag) {
  test::TempDir folder;
  const std::string path = (folder / "mask.ndjson").string();
  auto mask = MaskWriter::Open(path);
  REQUIRE(mask.ok());
  auto gate = std::make_unique<wire::GateTable>();
  WorkerPool pool(threads);
  Engine engine(SamplingOptions{}, *gate, GateAsked::kByEngine, lag, pool, mask.value());
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(0.0, 0.05);
  for (int i = 0; i < 60000; ++i) {
    const std::uint32_t kernel = random() % 40;
    wire::KernelRecord record;
    record.name_id = engine.AddKernel("kernel" + std::to_string(kernel));
    record.stream = kernel % 3;
    record.grid[0] = 1 + random() % 3;
    record.duration_ns = static_cast<std::uint64_t>(
        1000.0 * (1 + kernel) * static_cast<double>(record.grid[0]) * noise(random));
    record.start_ns = static_cast<std::uint64_t>(i) * 1000;
    engine.Push(record);
  }
  Decisions decisions{PlanToJson(engine.Finish()), ""};
  CHECK(mask.value().Close().ok());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  decisions.mask = text.str();
  return decisions;
}

TEST_CASE("decisions are the same, bit for bit, whatever the number of threads") {
  const Decisions one = Decide(1, 5000);
  CHECK(one.mask.size() > 1000);
  for (const unsigned threads : {2u, 4u}) {
    const Decisions many = Decide(threads, 5000);
    CHECK(many.plan == one.plan);
    CHECK(many.mask == one.mask);
  }
}

TEST_CASE("the lag is part of the input") {
  CHECK(Decide(1, 0).mask != Decide(1, 20000).mask);
}

TEST_CASE("streams of different processes have histories of their own") {
  MaskWriter mask;
  auto gate = std::make_unique<wire::GateTable>();
  WorkerPool pool(1);
  Engine engine(SamplingOptions{}, *gate, GateAsked::kByEngine, 0, pool, mask);
  const std::uint32_t ids[] = {engine.AddKernel("a"), engine.AddKernel("b"), engine.AddKernel("c"),
                               engine.AddKernel("d")};
  for (int i = 0; i < 2000; ++i) {
    wire::KernelRecord record;
    record.name_id = ids[i % 4];
    record.duration_ns = 1000;
    engine.Push(record, static_cast<std::uint16_t>(i % 2));  // one launches a and c, one b and d
  }
  const std::uint64_t a = wire::NameHash("a", 1);
  const std::uint64_t c = wire::NameHash("c", 1);
  const std::uint64_t config = wire::ConfigKey(a, {{0, 0, 0}, {0, 0, 0}});
  const wire::LaunchHistory before = wire::Advance(wire::Advance(0, a), c);
  CHECK(gate->Find(wire::HistoryKey(config, before)) != wire::kNoSlot);
}

TEST_CASE("an engine that was given nothing has an empty plan") {
  MaskWriter mask;
  auto gate = std::make_unique<wire::GateTable>();
  WorkerPool pool(2);
  Engine engine(SamplingOptions{}, *gate, GateAsked::kByEngine, 100, pool, mask);
  const Plan plan = engine.Finish();
  CHECK(plan.totals.invocations == 0);
  CHECK(plan.kernels.empty());
}

TEST_CASE("a mask that cannot be written is told at the end, once") {
  auto mask = MaskWriter::Open("/dev/full");
  REQUIRE(mask.ok());
  NameTable names;
  names.Intern("k");
  const MaskEvent event{MaskEventKind::kClose, 0, 0, 0, 0, 0};
  mask.value().Write(std::span(&event, 1), names);
  mask.value().Write(std::span(&event, 1), names);
  const Status closed = mask.value().Close();
  REQUIRE_FALSE(closed.ok());
  CHECK(closed.error().message.find("/dev/full: cannot be written: No space left") == 0);
}

}  // namespace
}  // namespace stemtap
