// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_name_table.h"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace stemtap::inject {
namespace {

using Kind = GraphProblem::Kind;

void Put(GraphNameTable& table, std::uint32_t id, const std::string& name) {
  table.Put(id, name.data(), static_cast<std::uint32_t>(name.size()));
}

std::string Find(const GraphNameTable& table, std::uint32_t id) {
  const GraphNameTable::Found found = table.Find(id);
  return found.name == nullptr ? "" : std::string(found.name, found.length);
}

TEST_CASE("graphs with equal names share their text") {
  const auto table = std::make_unique<GraphNameTable>();
  Put(*table, 1, "a");
  Put(*table, 2, "b");
  Put(*table, 3, "a");
  CHECK(Find(*table, 1) == "a");
  CHECK(Find(*table, 2) == "b");
  CHECK(table->Find(1).name == table->Find(3).name);
  CHECK(Find(*table, 4) == "");
  CHECK(table->Find(4).problem.kind == Kind::kUnseen);
}

TEST_CASE("an overwritten entry never gives the name of another graph") {
  const auto table = std::make_unique<GraphNameTable>();
  Put(*table, 5, "old");
  Put(*table, 5 + GraphNameTable::kIds, "new");
  CHECK(Find(*table, 5) == "");
  CHECK(Find(*table, 5 + GraphNameTable::kIds) == "new");
  table->PutProblem(5 + GraphNameTable::kIds, CallFailed(GraphCall::kGetEdges, 999));
  const GraphProblem problem = table->Find(5 + GraphNameTable::kIds).problem;
  CHECK(problem.kind == Kind::kCallFailed);
  CHECK(problem.call == static_cast<std::uint8_t>(GraphCall::kGetEdges));
  CHECK(problem.error == 999);
  CHECK(Find(*table, 0xFFFFFFFF) == "");
}

TEST_CASE("graphs beyond the maximum of names have none, and known names are still found") {
  const auto table = std::make_unique<GraphNameTable>();
  for (std::uint32_t i = 0; i < GraphNameTable::kMaxNames; ++i) {
    Put(*table, i + 1, "graph " + std::to_string(i));
  }
  Put(*table, 60'000, "one more");
  CHECK(table->Find(60'000).problem.kind == Kind::kTooManyNames);
  Put(*table, 60'001, "graph 17");
  CHECK(Find(*table, 60'001) == "graph 17");
  CHECK(Find(*table, GraphNameTable::kMaxNames) ==
        "graph " + std::to_string(GraphNameTable::kMaxNames - 1));
}

TEST_CASE("threads that name graphs at once, and a reader, see complete names") {
  constexpr std::uint32_t kThreads = 8;
  constexpr std::uint32_t kPerThread = 4000;
  const auto table = std::make_unique<GraphNameTable>();
  const auto name_of = [](std::uint32_t id) {
    return std::string(1 + id % 200, static_cast<char>('a' + id % 7));
  };
  std::atomic<bool> done{false};
  std::thread reader([&] {
    std::uint32_t wrong = 0;
    while (!done.load(std::memory_order_relaxed)) {
      for (std::uint32_t id = 1; id <= kThreads * kPerThread; id += 13) {
        const std::string found = Find(*table, id);
        wrong += !found.empty() && found != name_of(id);
      }
    }
    CHECK(wrong == 0);
  });
  std::vector<std::thread> writers;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < kPerThread; ++i) {
        const std::uint32_t id = 1 + i * kThreads + t;
        Put(*table, id, name_of(id));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  done.store(true, std::memory_order_relaxed);
  reader.join();
  for (std::uint32_t id = 1; id <= kThreads * kPerThread; ++id) {
    REQUIRE(Find(*table, id) == name_of(id));
  }
}

}  // namespace
}  // namespace stemtap::inject
