// SPDX-License-Identifier: Apache-2.0
//
// Tests record kinds other than kernels: whole graphs, and CUPTI's overhead.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

std::uint64_t Number(const std::map<std::string, std::string>& seen, const char* key) {
  return std::stoull(seen.at(key));
}

TEST_CASE("the activity kind at instantiation decides if a graph or its kernels are recorded") {
  const auto seen = Values("graph_trace");
  CHECK(seen.at("early_kernels") == "0");
  CHECK(seen.at("early_graphs") == "0");
  CHECK(seen.at("by_node_kernels") == "15");
  CHECK(seen.at("by_node_graphs") == "0");
  CHECK(seen.at("whole_kernels") == "0");
  CHECK(seen.at("whole_graphs") == "3");
  CHECK(Number(seen, "whole_ns") >= 3 * 5000);
  CHECK(seen.at("outside_kernels") == "1");
  CHECK(seen.at("off_kernels") == "0");
  CHECK(seen.at("off_graphs") == "0");
}

TEST_CASE("a graph record contains the properties of the launch") {
  // Five kernels of 1 us, one after another.
  for (const auto& [version, bytes] : {std::pair{"130001", "56"}, {"21", "56"}, {"20", "48"}}) {
    CAPTURE(version);
    const auto seen = Values("graph_record", {{"FAKE_CUPTI_VERSION", version}});
    CHECK(seen.at("bytes") == bytes);
    CHECK(seen.at("duration_ns") == "5000");
    CHECK(seen.at("device") == "0");
    CHECK(seen.at("context") == "1");
    CHECK(seen.at("stream") == "13");
    CHECK(seen.at("graph_id_is_the_executable's") == "1");
    CHECK(seen.at("correlated") == "1");
  }
}

TEST_CASE("the overhead is reported per buffer and delays each launch") {
  for (const char* version : {"130001", "21", "18"}) {
    CAPTURE(version);
    const auto seen = Values("overhead", {{"FAKE_GPU_CLOCK", "real"},
                                          {"FAKE_CUPTI_VERSION", version},
                                          {"FAKE_CUPTI_OVERHEAD_NS", "3000"},
                                          {"FAKE_CUPTI_INSTRUMENTATION_NS", "70000"}});
    CHECK(seen.at("kernels") == "2000");
    // The module's record also counts in the overhead of its buffer.
    CHECK(Number(seen, "overhead_ns") == 2001 * 3000);
    CHECK(seen.at("overheads") == seen.at("buffers"));
    CHECK(seen.at("instrumentation_ns") == "70000");
    CHECK(Number(seen, "on_ns_per_launch") >= 3000);
  }
}

TEST_CASE("no overhead is reported by default") {
  const auto seen = Values("overhead");
  CHECK(seen.at("overhead_ns") == "0");
  CHECK(seen.at("instrumentation_ns") == "0");
  CHECK(seen.at("kernels") == "2000");
}

TEST_CASE("with the virtual clock, the overhead advances the virtual clock") {
  const Environment env = {{"FAKE_CUPTI_OVERHEAD_NS", "1000000000"}};
  const auto seen = Values("overhead", env);
  CHECK(Number(seen, "overhead_ns") == 2001 * 1'000'000'000ull);
  CHECK(Number(seen, "on_ns_per_launch") < 1'000'000'000);
}

}  // namespace
}  // namespace stemtap::test
