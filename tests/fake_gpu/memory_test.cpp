// SPDX-License-Identifier: Apache-2.0
//
// Tests the memory of the simulated driver.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE(
    "device memory is zeroed, is limited by the device, and may exceed the machine's memory") {
  const auto seen = Values("allocations");
  CHECK(seen.at("first_is_zero") == "1");
  CHECK(seen.at("last_is_zero") == "1");
  CHECK(seen.at("used_gib") == "60");
  CHECK(seen.at("too_large") == "2");  // CUDA_ERROR_OUT_OF_MEMORY
  CHECK(seen.at("used_after") == "0");
  CHECK(seen.at("freed_again") == "1");
  CHECK(seen.at("reused_is_zero") == "1");
  CHECK(seen.at("pitch") == "1024");
}

TEST_CASE(
    "attributes describe an address, and only the plural function accepts unknown addresses") {
  // Memory type, managed, offset in the range, size of the range, result of the singular function,
  // and its result for the host address.
  const auto seen = Values("pointers");
  CHECK(seen.at("device") == "2 0 10 1000 0 1");
  CHECK(seen.at("managed") == "2 1 0 2000 0 0");
  CHECK(seen.at("pinned") == "1 0 0 3000 0 0");
  CHECK(seen.at("registered") == "1 0 1 8192 0 0");
  CHECK(seen.at("unknown") == "0 0 0 0 1 1");
  CHECK(seen.at("unregistered") == "0 0 0 0 1 1");
  CHECK(seen.at("registered_again") == "712");
  CHECK(seen.at("unregistered_again") == "713");
}

TEST_CASE("rectangles are copied and filled row by row") {
  const auto seen = Values("copies");
  CHECK(seen.at("copied") == "1");
  CHECK(seen.at("filled") == "1");
  CHECK(seen.at("bad_pitch") == "1");
}

TEST_CASE("copies and memsets take time on their stream") {
  const auto seen = Values("copy_times");
  CHECK(seen.at("to_device_ns") == "24500");  // 2.5 us of the call, 2 us and 20 us
  CHECK(seen.at("on_device_ns") == "54500");
  CHECK(seen.at("fill_ns") == "54500");
  CHECK(seen.at("asynchronous_ns") == "2500");
  CHECK(seen.at("waiting_ns") == "52000");
}

TEST_CASE("a memory pool counts the memory that it handed out") {
  const auto seen = Values("pools");
  CHECK(seen.at("threshold") == "12345");
  CHECK(seen.at("used") == "3000");
  CHECK(seen.at("used_later") == "2000");
  CHECK(seen.at("high") == "3000");
}

TEST_CASE("virtual memory can be mapped several times and counts once") {
  const auto seen = Values("virtual_memory");
  CHECK(seen.at("used") == "1");
  CHECK(seen.at("mapped_twice") == "1");
  CHECK(seen.at("shared") == "7");
  CHECK(seen.at("attributes") == "2 0 5 2097152 0 1");
  CHECK(seen.at("used_after") == "0");
}

}  // namespace
}  // namespace stemtap::test
