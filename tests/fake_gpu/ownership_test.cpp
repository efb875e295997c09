// SPDX-License-Identifier: Apache-2.0
//
// Tests that clients that touch CUPTI's buffers, or hold a lock that their callbacks need, are
// ended with a message.
#include <doctest/doctest.h>
#include <signal.h>

#include <string>

#include "probed.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

// Returns whether the simulated CUPTI ended the scenario with this message.
bool EndedWith(const std::string& scenario, const std::string& words, const Environment& env = {}) {
  const ProcessResult result = Probe(scenario, env);
  INFO(result.err);
  CHECK(result.signal == SIGABRT);
  return result.err.starts_with("fake CUPTI: ") && result.err.find(words) != std::string::npos;
}

TEST_CASE("writing to a buffer that CUPTI owns is detected") {
  CHECK(EndedWith("touch_record", "buffer that CUPTI owns"));
  CHECK(EndedWith("touch_at_delivery", "buffer that CUPTI owns"));
  CHECK(Probe("touch_at_delivery").out == "launched 4\n");
  CHECK(EndedWith("touch_rest", "buffer that CUPTI owns"));
}

TEST_CASE("freeing or unmapping a buffer that CUPTI owns is detected") {
  CHECK(EndedWith("free_owned", "buffer that CUPTI owns"));
  CHECK(EndedWith("unmap_owned", "has unmapped"));
}

TEST_CASE("with the guard, reading a buffer that CUPTI owns crashes") {
  CHECK(Probe("read_owned").out == "read 0\n");
  CHECK(Probe("read_owned", {{"FAKE_CUPTI_GUARD", "1"}}).signal == SIGSEGV);
  const auto seen = Values("threads", {{"FAKE_CUPTI_GUARD", "1"}});
  CHECK(seen.at("records") == "40000");
}

TEST_CASE("the truth file counts the buffers that were not returned") {
  const TempDir dir;
  const auto first_line = [&](const char* scenario) {
    const std::string file = (dir / scenario).string();
    REQUIRE(Probe(scenario, {{"FAKE_GPU_TRUTH", file}}).exit_code == 0);
    const std::string text = ReadFile(file);
    return text.substr(0, text.find('\n'));
  };
  CHECK(first_line("keep_one") ==
        "# launches 2 captured 0 capture_ns 0 graph_launches 0 graph_kernels 0 unrecorded 0 "
        "buffers_lent 2 "
        "buffers_unreturned 1 "
        "buffers_lent_twice 0 buffers_unzeroed 0");
  CHECK(first_line("client_zeroes").ends_with("buffers_unzeroed 1"));
  const std::string twice = first_line("lend_twice");
  CHECK(twice.find("buffers_lent_twice 0") == std::string::npos);
  CHECK(twice.find("buffers_unreturned 0") != std::string::npos);
}

TEST_CASE(
    "a lock that is held across a call and acquired in a callback is reported as a deadlock") {
  const Environment soon = {{"FAKE_CUPTI_DEADLOCK_MS", "300"}};
  const std::string dropped =
      "deadlock: cuptiActivityGetNumDroppedRecords has waited 300 ms for a ";
  CHECK(EndedWith("dropped_across_complete", dropped + "complete", soon));
  CHECK(EndedWith("dropped_across_request", dropped + "request", soon));
  const std::string flush = "deadlock: cuptiActivityFlushAll has waited 300 ms for a ";
  CHECK(EndedWith("flush_across_complete", flush + "complete", soon));
  CHECK(EndedWith("flush_across_request", flush + "request", soon));
  CHECK(Values("no_deadlock", soon).at("records") == "1000");
}

TEST_CASE("forbidden actions in a callback are detected") {
  CHECK(EndedWith("dropped_in_request", "request callback"));
  CHECK(EndedWith("throw", "exception"));
  CHECK(EndedWith("finalize_in_callback", "cuptiFinalize"));
}

}  // namespace
}  // namespace stemtap::test
