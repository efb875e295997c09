// SPDX-License-Identifier: Apache-2.0
//
// Tests the simulated libraries: each test runs one scenario of fake_gpu_probe and checks its
// output.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE("every kernel record has its exact duration") {
  const auto seen = Values("count");
  CHECK(seen.at("records") == "10000");
  CHECK(seen.at("duration_ns") == "59995000");  // sum of 1000 + i
  CHECK(seen.at("dropped") == "0");
}

TEST_CASE("buffers are requested on the launching thread and completed on the flushing thread") {
  const auto seen = Values("count");
  CHECK(seen.at("requests") == "34");  // 303 records of 216 bytes in 64 KiB
  CHECK(seen.at("requested_on_launching_thread") == seen.at("requests"));
  CHECK(seen.at("flushed_on_this_thread") == "1");
}

TEST_CASE("the worker thread can deliver buffers after the flush has returned") {
  CHECK(Values("late").at("on_another_thread") == "0");
  CHECK(Values("late", {{"FAKE_CUPTI_LATE", "1"}}).at("on_another_thread") == "1");
}

TEST_CASE("a record contains the properties of the launch") {
  const auto seen = Values("one_record");
  CHECK(seen.at("kind") == "10");
  CHECK(seen.at("bytes") == "216");
  CHECK(seen.at("duration_ns") == "12345");
  CHECK(seen.at("device") == "0");
  CHECK(seen.at("context") == "1");
  CHECK(seen.at("stream") == "13");
  CHECK(seen.at("grid") == "321");
  CHECK(seen.at("block") == "6421");
  CHECK(seen.at("shared") == "512");
  CHECK(seen.at("name") == "_Z4spinv");
}

TEST_CASE("a record is eight bytes shorter before CUPTI 13") {
  CHECK(Values("one_record", {{"FAKE_CUPTI_VERSION", "28"}}).at("bytes") == "208");
}

TEST_CASE("records of all streams are delivered in the order of their end") {
  const auto seen = Values("order");
  CHECK(seen.at("by_end") == "1");
  CHECK(seen.at("last") == "slow");
  CHECK(seen.at("last_correlation_is_lowest") == "1");
}

TEST_CASE("a running kernel holds back its buffer until the flush is forced") {
  const auto seen = Values("withheld", kReal);
  CHECK(seen.at("buffers") == "0");
  CHECK(seen.at("forced_records") == "2");
  CHECK(seen.at("forced_unfinished") == "1");
  CHECK(seen.at("redelivered") == "0");
}

TEST_CASE("with the real clock, launches are asynchronous and synchronization waits") {
  const auto seen = Values("real_clock", kReal);
  CHECK(seen.at("busy") == "1");
  CHECK(seen.at("synchronize_waited") == "1");
  CHECK(seen.at("duration_ns") == "20000000");
}

TEST_CASE("with the real clock, a full launch queue blocks the launching thread") {
  const auto seen = Values("queue_blocks", kReal);
  CHECK(seen.at("launching_waited") == "1");
  CHECK(seen.at("some_still_run") == "1");
}

TEST_CASE("eight launching threads and a flusher neither drop nor duplicate a record") {
  for (const Environment& env : {Environment{}, kReal}) {
    const auto seen = Values("threads", env);
    CHECK(seen.at("records") == "40000");
    CHECK(seen.at("distinct_correlations") == "40000");
    CHECK(seen.at("dropped") == "0");
  }
}

TEST_CASE("buffers are per thread only if the attribute is set") {
  const auto each = Values("buffer_per_thread");
  CHECK(each.at("requests") == "8");
  CHECK(each.at("records") == "80");
  const auto all = Values("buffer_for_all");
  CHECK(all.at("requests") == "1");
  CHECK(all.at("records") == "80");
}

TEST_CASE(
    "a buffer holds at most the client's maximum, and a buffer that is too small drops records") {
  const auto seen = Values("sizes");
  CHECK(seen.at("filled_buffers") == "1");
  CHECK(seen.at("limited_buffers") == "3");
  CHECK(seen.at("empty_buffers") == "1");
  CHECK(seen.at("records") == "0");
  CHECK(seen.at("dropped") == "1");
  CHECK(seen.at("dropped_again") == "0");
}

TEST_CASE("CUPTI clears buffers unless the client provides zeroed buffers") {
  CHECK(Values("zero_fill").at("tail") == "0");
  CHECK(Values("client_zeroes").at("tail") == "205");
}

TEST_CASE("the kernels of a graph launch share a correlation id") {
  const auto seen = Values("graph");
  CHECK(seen.at("records") == "10");  // a graph from before the kind was enabled yields none
  CHECK(seen.at("correlations") == "2");
  CHECK(seen.at("graphs") == "1");
  CHECK(seen.at("nodes") == "5");
  CHECK(seen.at("launches") == "15");
}

TEST_CASE("names of an unloaded module are valid until their records are delivered") {
  CHECK(Values("unloaded_module").at("name") == "gone_tomorrow");
  CHECK(Probe("stale_name").signal == SIGSEGV);
  CHECK(Probe("unloaded_module", {{"FAKE_GPU_STALE_NAMES", "1"}}).signal == SIGSEGV);
}

TEST_CASE("a disabled activity kind records nothing") {
  const auto seen = Values("disable");
  CHECK(seen.at("records") == "2");
  CHECK(seen.at("duration_ns") == "101");
}

TEST_CASE("correlation ids wrap at 32 bits") {
  const auto seen = Values("correlations", {{"FAKE_CUPTI_FIRST_CORRELATION", "0xFFFFFFE0"}});
  CHECK(std::stoul(seen.at("first")) > 0xFFFFFFE0u);
  CHECK(std::stoul(seen.at("last")) < 100);
}

TEST_CASE("a capture takes wall time and does not change the recorded duration") {
  const auto seen = Values("capture");
  CHECK(seen.at("blocked") == "1");
  CHECK(seen.at("captured") == "1");
  CHECK(seen.at("capture_cost_is_5_ms") == "1");
  CHECK(seen.at("duration_ns") == "15000");
  const auto slow = Values("capture", {{"FAKE_GPU_CAPTURE_SLOWS_RECORDS", "1"}});
  CHECK(slow.at("duration_ns") == "5010000");
  CHECK(slow.at("native_ns") == "15000");
}

TEST_CASE("settings remove timestamps from records or drop records") {
  const auto zero = Values("count", {{"FAKE_CUPTI_ZERO_TIMESTAMPS", "100"}});
  CHECK(zero.at("records") == "10000");
  CHECK(zero.at("zero_timestamps") == "100");
  const auto dropped = Values("count", {{"FAKE_CUPTI_DROP", "100"}});
  CHECK(dropped.at("records") == "9900");
  CHECK(dropped.at("dropped") == "100");
}

TEST_CASE("NVIDIA's libcupti reads the same records from the buffers of the simulated CUPTI") {
  const std::string real = "/usr/local/cuda/lib64/libcupti.so.13";
  if (!std::filesystem::exists(real)) {
    MESSAGE("SKIPPED: " << real << " is not installed");
    return;
  }
  const auto seen = Values("real_reader", {{"REAL_CUPTI", real}});
  if (seen.contains("skipped")) {
    MESSAGE("SKIPPED: " << real << " cannot be loaded");
    return;
  }
  CHECK(seen.at("is_another") == "1");
  CHECK(seen.at("kernels") == "5000");
  CHECK(seen.at("same") == "5000");
  CHECK(seen.at("graphs") == "50");
  CHECK(seen.at("an_overhead_per_buffer") == "1");
}

TEST_CASE("only one subscriber is accepted, and its name is reported to the next one") {
  const auto seen = Values("subscribers");
  CHECK(seen.at("first") == "0");
  CHECK(seen.at("second") == "39");
  CHECK(seen.at("incumbent") == "CUPTI for first");
  CHECK(seen.at("third") == "39");
  CHECK(seen.at("unsubscribe") == "0");
  CHECK(seen.at("unsubscribe_again") == "1");
  CHECK(seen.at("after") == "0");
  const auto occupied = Values("subscribers", {{"FAKE_CUPTI_OCCUPIED", "Nsight Systems"}});
  CHECK(occupied.at("first") == "39");
  CHECK(occupied.at("incumbent") == "Nsight Systems");
}

TEST_CASE("launch callbacks nest around the launch and share its correlation id") {
  const auto seen = Values("launch_callbacks");
  CHECK(seen.at("before_enabling") == "0");
  CHECK(seen.at("enters") == "1");
  CHECK(seen.at("exits") == "1");
  CHECK(seen.at("grid_x") == "3");
  CHECK(seen.at("cell_kept") == "1");
  CHECK(seen.at("result") == "0");
  CHECK(seen.at("symbol") == "_Z1fv");
  CHECK(seen.at("duration_ns") == "2222");
  CHECK(seen.at("after_disabling") == "1");
  CHECK(seen.at("records") == "3");
  CHECK(seen.at("same_correlation") == "1");
}

TEST_CASE("each launch function has a callback id and parameters") {
  const auto seen = Values("other_launches");
  CHECK(seen.at("ex_cbid_is_right") == "1");
  CHECK(seen.at("ex_grid_x") == "9");
  CHECK(seen.at("cooperative_cbid_is_right") == "1");
  CHECK(seen.at("bad_launch") == "1");
  CHECK(seen.at("bad_launch_seen") == "1");
  CHECK(seen.at("enters") == "3");
  CHECK(seen.at("exits") == "3");
}

TEST_CASE("context and module creation invokes resource callbacks") {
  const auto seen = Values("resources");
  CHECK(seen.at("contexts") == "11");
  CHECK(seen.at("modules") == "11");
}

TEST_CASE("records are delivered after the subscriber has unsubscribed") {
  CHECK(Values("probe_and_leave").at("records") == "1");
}

TEST_CASE("cuptiFinalize at the exit of a launch resets CUPTI to its initial state") {
  const auto seen = Values("finalize_at_exit");
  CHECK(seen.at("calls") == "2");
  CHECK(seen.at("records") == "2");
  CHECK(seen.at("flush") == "7");  // CUPTI_ERROR_INVALID_OPERATION
  CHECK(seen.at("per_thread") == "1");
  CHECK(seen.at("old_handle") == "1");
  CHECK(seen.at("subscribe") == "0");
  CHECK(seen.at("records_again") == "1");
}

TEST_CASE("records distinguish devices and contexts") {
  CHECK(Values("contexts", {{"FAKE_GPU_DEVICES", "4"}}).at("seen") == "0:2 0:3 3:4 3:5 ");
}

TEST_CASE("functions fail as the failure script specifies") {
  const auto plain = Values("results");
  CHECK(plain.at("version") == "130001");
  CHECK(plain.at("enable") == "0");
  CHECK(plain.at("last_error") == "39");
  const auto failing = Values(
      "results",
      {{"FAKE_CUPTI_FAIL", "cuptiActivityEnable=999,cuptiSubscribe@1=2,cuptiGetVersion=15"}});
  CHECK(failing.at("version_result") == "15");
  CHECK(failing.at("subscribe") == "2");
  CHECK(failing.at("subscribe_again") == "0");
  CHECK(failing.at("enable") == "999");
  CHECK(failing.at("last_error") == "999");
}

TEST_CASE("a client that provides no buffer drops the record, and crashes before 12.9") {
  CHECK(Values("null_buffer").at("dropped") == "1");
  const ProcessResult old = Probe("null_buffer", {{"FAKE_CUPTI_VERSION", "26"}});
  CHECK(old.signal == SIGABRT);
  CHECK(old.err.find("no buffer") != std::string::npos);
}

TEST_CASE("misuse that deadlocks or corrupts the real CUPTI ends the process with a message") {
  const ProcessResult unaligned = Probe("unaligned_buffer");
  CHECK(unaligned.signal == SIGABRT);
  CHECK(unaligned.err.find("aligned") != std::string::npos);
  const ProcessResult nested = Probe("flush_in_callback");
  CHECK(nested.signal == SIGABRT);
  CHECK(nested.err.find("buffer callback") != std::string::npos);
}

TEST_CASE("a forked child cannot use CUDA and CUPTI, and its parent still can") {
  const auto seen = Values("fork");
  CHECK(seen.at("child_exit") == "33");  // CUDA_ERROR_NOT_INITIALIZED, twice
  CHECK(seen.at("records") == "2");
  const ProcessResult cupti = Probe("fork_cupti");
  CHECK(cupti.out.find("child_signal 6") != std::string::npos);
  CHECK(cupti.err.find("forked child") != std::string::npos);
  CHECK(Values("fork_hangs", {{"FAKE_CUPTI_FORK", "hang"}}).at("child_hangs") == "1");
}

TEST_CASE("devices have the configured compute capability") {
  CHECK(Values("device").at("capability") == "90");
  CHECK(Values("device", {{"FAKE_GPU_CAPABILITY", "120"}}).at("capability") == "120");
}

TEST_CASE("there is one device with the attributes of an H100") {
  const auto seen = Values("device");
  CHECK(seen.at("devices") == "1");
  CHECK(Values("device", {{"FAKE_GPU_DEVICES", "3"}}).at("devices") == "3");
  CHECK(seen.at("defined_attributes") == "1");
  CHECK(seen.at("undefined_attribute") == "1");  // CUDA_ERROR_INVALID_VALUE
  CHECK(seen.at("texture_alignment") == "512");
  CHECK(seen.at("no_device") == "101");
}

TEST_CASE("only the driver version is available before cuInit") {
  const auto seen = Values("uninitialized");
  CHECK(seen.at("device_count") == "3");
  CHECK(seen.at("version") == "0");
}

TEST_CASE("cuInit initializes the injected library once and succeeds without a library") {
  const auto injected = [](const std::string& path) {
    const ProcessResult result = Probe("initialize", {{"CUDA_INJECTION64_PATH", path}});
    CHECK(result.exit_code == 0);
    return result.out;
  };
  CHECK(injected(STEMTAP_TEST_INJECTED) == "loaded\ninjected\nunloaded\n");
  CHECK(injected("none") == "");
  CHECK(injected("/no/such/library.so") == "");
}

TEST_CASE("cuGetProcAddress finds the newest variant of a function") {
  const auto seen = Values("entry_points");
  CHECK(seen.at("newest_variant") == "1");
  CHECK(seen.at("plain") == "1");
  CHECK(seen.at("per_thread_is_another") == "1");
  CHECK(seen.at("unknown") == "1");
  CHECK(seen.at("newer") == "2");
  CHECK(seen.at("null") == "1");
}

}  // namespace
}  // namespace stemtap::test
