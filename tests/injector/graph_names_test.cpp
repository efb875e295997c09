// SPDX-License-Identifier: Apache-2.0
//
// Tests the names of graphs at level graph on the simulated GPU.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "injector/injected.h"

namespace stemtap::test {
namespace {

// Runs the program graph_list at level graph. Returns the names of its graph launches, in order of
// their calls.
std::vector<std::string> NamesOf(const std::vector<std::string>& graphs,
                                 const Variables& variables = {}) {
  const Injected injected;
  Variables all = {{"STEMTAP_LEVEL", "graph"}};
  all.insert(all.end(), variables.begin(), variables.end());
  const ProcessResult result = injected.Run("graph_list", graphs, all);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  Ring ring(injected.RingFile());
  ring.Drain();
  CHECK(ring.state() == shm::RingState::kClosed);
  CHECK(ring.lost_records() == 0);
  std::map<std::uint32_t, std::string> by_call;
  for (const Ring::Kernel& kernel : ring.kernels()) {
    CHECK(kernel.record.flags == shm::kFlagGraph);
    by_call[kernel.record.correlation_id] = kernel.name;
  }
  std::vector<std::string> names;
  for (const auto& [call, name] : by_call) names.push_back(name);
  return names;
}

constexpr const char* kGraph = "a1,b2,b2,m64,y128,n3/01,02,13,23,45,51";

TEST_CASE("a graph has one name in every process, order of nodes and instantiation") {
  const std::vector<std::string> names =
      NamesOf({kGraph, "again:", kGraph, "b2,n3,y128,m64,a1,b2/40,45,03,53,21,10"});
  REQUIRE(names.size() == 4);
  CHECK(names[0].starts_with("graph of 4 kernels, 2 x kernel_b #"));
  for (const std::string& name : names) CHECK(name == names[0]);
  CHECK(NamesOf({"c1/", kGraph})[1] == names[0]);
}

TEST_CASE("different graphs have different names") {
  const std::vector<std::string> graphs = {
      kGraph,
      "a1,c2,b2,m64,y128,n3/01,02,13,23,45,51",     // another kernel
      "a1,b4,b2,m64,y128,n3/01,02,13,23,45,51",     // another grid
      "a1,b2,b2,m65,y128,n3/01,02,13,23,45,51",     // a memset of another size
      "a1,b2,b2,m64,y129,n3/01,02,13,23,45,51",     // a copy of another size
      "a1,b2,b2,m64,y128,n4/01,02,13,23,45,51",     // another child graph
      "a1,b2,b2,m64,y128,c3/01,02,13,23,45,51",     // its kernel without a child graph
      "a1,b2,b2,m64,y128,n3/01,02,13,23,45",        // an edge less
      "a1,b2,b2,m64,y128,n3/01,02,13,23,45,50",     // another edge
      "a1,b2,b2,m64,y128,n3,b2/01,02,13,23,45,51",  // a node more
      "c1/",
      "m1/",
  };
  const std::vector<std::string> names = NamesOf(graphs);
  REQUIRE(names.size() == graphs.size());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == graphs.size());
  CHECK(names[10].starts_with("graph of 1 kernel, 1 x kernel_c #"));
  CHECK(names[11].starts_with("graph of 0 kernels #"));
}

TEST_CASE("every call that instantiates a graph names it") {
  const std::string graph = kGraph;
  const std::vector<std::string> names =
      NamesOf({graph, "v1:" + graph, "v2:" + graph, "params:" + graph, "ptsz:" + graph});
  REQUIRE(names.size() == 5);
  for (const std::string& name : names) CHECK(name == names[0]);
  CHECK(names[0].starts_with("graph of 4 kernels"));
}

TEST_CASE("an updated graph keeps the name of its instantiation") {
  const std::vector<std::string> names = NamesOf({"a1,b2/01", "update:a1,c4/01"});
  REQUIRE(names.size() == 2);
  CHECK(names[0] == names[1]);
}

TEST_CASE("threads that instantiate graphs at once name each of them") {
  const std::vector<std::string> names = NamesOf({std::string("threads:") + kGraph, kGraph});
  REQUIRE(names.size() == 401);
  for (const std::string& name : names) CHECK(name == names.back());
}

TEST_CASE("without names by structure, graphs of different processes have different names") {
  struct Case {
    const char* fail;
    const char* reason;
  };
  for (const auto& [fail, reason] :
       {Case{"cuptiEnableCallback=999",
             "CUPTI refused the callback of an instantiation, error 999"},
        Case{"cuptiGetGraphExecId=1", "CUPTI did not report the instantiation of one"}}) {
    CAPTURE(fail);
    std::set<std::string> names;
    for (int process = 0; process < 2; ++process) {
      const Injected injected;
      REQUIRE(injected
                  .Run("graph_list", {kGraph, "a1/", "again:"},
                       {{"STEMTAP_LEVEL", "graph"}, {"FAKE_CUPTI_FAIL", fail}})
                  .exit_code == 0);
      Ring ring(injected.RingFile());
      ring.Drain();
      REQUIRE(ring.kernels().size() == 3);
      const std::string who = " of process " + std::to_string(ring.header().pid) + " #";
      for (const Ring::Kernel& kernel : ring.kernels()) {
        CHECK(kernel.name.starts_with("graph " + std::to_string(kernel.record.graph_id) + who));
        names.insert(kernel.name);
      }
      const std::string remarks = ring.header().reason;
      const std::string remark = std::string("graphs are named by number: ") + reason;
      CHECK(remarks == remark);  // once
    }
    CHECK(names.size() == 6);
  }
}

}  // namespace
}  // namespace stemtap::test
