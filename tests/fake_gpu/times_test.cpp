// SPDX-License-Identifier: Apache-2.0
//
// Tests unexpected times, and when buffers are delivered without a flush.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE(
    "a client's clock applies to the whole process, for kernels that begin after it was set") {
  const auto seen = Values("timestamp_callback");
  CHECK(seen.at("null") == "1");
  CHECK(seen.at("clock_is_the_client's") == "1");
  CHECK(seen.at("records") == "2");
  CHECK(seen.at("before_ns") == "1000000");
  const double ticks = std::stod(seen.at("after_ticks"));
  CHECK(ticks > 2.9e6);  // 3 ticks per nanosecond, within the accuracy of two readings
  CHECK(ticks < 3.1e6);
  CHECK(seen.at("after_finalize_realtime") == "1");
}

TEST_CASE("if the clock is set back during a kernel, the kernel ends before it begins") {
  const auto seen = Values("clock_step", {{"FAKE_GPU_CLOCK_STEP_AT", "2"},
                                          {"FAKE_GPU_CLOCK_STEP_NS", "-3600000000000"}});
  CHECK(seen.at("records") == "3");
  CHECK(seen.at("clock_went_back") == "1");
  CHECK(seen.at("first_ns") == "1000");
  CHECK(seen.at("second_is_backwards") == "1");
  CHECK(seen.at("second_is_off_by") == "3600000000000");
  CHECK(seen.at("third_ns") == "1000");
  CHECK(seen.at("third_begins_before_first") == "1");
}

TEST_CASE("records have no times after a graph leaked device memory, unless copies are recorded") {
  // 250 pools of 3,200,000 bytes.
  const Environment leak = {{"FAKE_CUPTI_GRAPH_LEAK", "8000000"}};
  const auto kernels = Values("graph_leak", leak);
  CHECK(kernels.at("records") == "601");
  CHECK(kernels.at("without_times") == "500");
  CHECK(Values("graph_leak_and_copies", leak).at("without_times") == "0");
  CHECK(Values("graph_leak").at("without_times") == "0");
  const Environment fixed = {{"FAKE_CUPTI_GRAPH_LEAK", "8000000"},
                             {"FAKE_CUPTI_VERSION", "130300"}};
  CHECK(Values("graph_leak", fixed).at("without_times") == "0");
}

TEST_CASE("the kind KERNEL serializes kernels and has no times for the kernels of graphs") {
  for (const Environment& env : {Environment{}, kReal}) {
    const auto serial = Values("serial", env);
    CHECK(serial.at("records") == "20");
    CHECK(serial.at("overlaps") == "0");
    CHECK(serial.at("graph_kernels_without_times") == "5");
    const auto concurrent = Values("concurrent");
    CHECK(concurrent.at("overlaps") == "1");
    CHECK(concurrent.at("graph_kernels_without_times") == "0");
  }
}

TEST_CASE("full buffers are delivered at once, partly filled buffers when they are flushed") {
  const auto seen = Values("flush_period");
  CHECK(seen.at("full") == "10");
  CHECK(seen.at("part_filled") == "0");
}

}  // namespace
}  // namespace stemtap::test
