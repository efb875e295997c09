// SPDX-License-Identifier: Apache-2.0
//
// Tests stream capture, graphs, user objects and host functions of the simulated driver.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE("a capture follows a fork and a join, and the branches overlap in a launch") {
  const auto seen = Values("fork_and_join");
  CHECK(seen.at("still_capturing") == "0");
  CHECK(seen.at("nodes") == "4");
  CHECK(seen.at("roots") == "1");
  CHECK(seen.at("edges") == "4");
  CHECK(seen.at("host_ns") == "2500");    // one launch
  CHECK(seen.at("total_ns") == "34500");  // the launch, 1 us, 30 us and 1 us
  CHECK(seen.at("records") == "4");
  CHECK(seen.at("branches_overlap") == "1");
  CHECK(seen.at("last_waits") == "1");
}

TEST_CASE("wrong captures fail with CUDA's errors") {
  const auto seen = Values("wrong_captures");
  CHECK(seen.at("unjoined") == "904");
  CHECK(seen.at("unmatched") == "903");
  CHECK(seen.at("after_unmatched") == "901");
  CHECK(seen.at("isolation") == "905");
  CHECK(seen.at("invalidated") == "901");
  CHECK(seen.at("captured_event") == "907");
  CHECK(seen.at("synchronize") == "900");
  CHECK(seen.at("after_synchronize") == "901");
  CHECK(seen.at("merge") == "902");
  CHECK(seen.at("no_capture") == "401");
}

TEST_CASE("copies, memsets, host functions and allocations of a graph run at its launch") {
  const auto seen = Values("graph_work");
  CHECK(seen.at("not_yet") == "0");
  CHECK(seen.at("out") == "XXcdefg");
  CHECK(seen.at("calls") == "2");
}

TEST_CASE("an executable graph takes new parameters and refuses another topology") {
  const auto seen = Values("graph_update");
  CHECK(seen.at("update") == "0");
  CHECK(seen.at("duration_ns") == "10000");
  CHECK(seen.at("longer") == "910");  // CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
  CHECK(seen.at("longer_result") == "2");
  CHECK(seen.at("topology") == "910");
  CHECK(seen.at("parameter") == "1000");
  CHECK(seen.at("set_duration_ns") == "85000");
}

TEST_CASE("a graph built node by node runs in the order of its dependencies") {
  const auto seen = Values("built_graph");
  CHECK(seen.at("ns") == "9500");
  CHECK(seen.at("type") == "4");  // CU_GRAPH_NODE_TYPE_GRAPH
  CHECK(seen.at("cycle") == "1");
  CHECK(seen.at("nodes") == "2");
}

TEST_CASE("a user object is destroyed with its last graph") {
  const auto seen = Values("user_objects");
  CHECK(seen.at("alive") == "0");
  CHECK(seen.at("destroyed") == "1");
}

TEST_CASE("a host function may wait for its caller, and later copies of the stream wait for it") {
  for (const Environment& env : {Environment{}, kReal}) {
    const auto seen = Values("host_functions", env);
    CHECK(seen.at("pending") == "600");  // CUDA_ERROR_NOT_READY
    CHECK(seen.at("out") == "yes");
    CHECK(seen.at("done") == "0");
  }
}

}  // namespace
}  // namespace stemtap::test
