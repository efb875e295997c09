// SPDX-License-Identifier: Apache-2.0
//
// Tests contexts, devices, textures, arrays and errors of the simulated driver.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE("limits of a context have defaults and can be set") {
  const auto seen = Values("limits");
  CHECK(seen.at("stack") == "1024");
  CHECK(seen.at("set_stack") == "4096");
  CHECK(seen.at("unknown") == "215");
}

TEST_CASE("devices can access each other, and are found by their bus") {
  const auto seen = Values("peers", {{"FAKE_GPU_DEVICES", "2"}});
  CHECK(seen.at("can") == "1");
  CHECK(seen.at("not_enabled") == "705");
  CHECK(seen.at("enabled_again") == "704");
  CHECK(seen.at("device") == "1");
}

TEST_CASE("every error of cuda.h has a name and a text") {
  const auto seen = Values("errors");
  CHECK(seen.at("errors") == "101");
  CHECK(seen.at("name") == "CUDA_ERROR_STREAM_CAPTURE_UNJOINED");
}

TEST_CASE("texture objects keep their description") {
  const auto seen = Values("textures");
  CHECK(seen.at("is_set") == "1");
  CHECK(seen.at("width") == "640");
  CHECK(seen.at("destroyed_again") == "1");
}

TEST_CASE("arrays can be copied to and from") {
  CHECK(Values("arrays").at("second_row") == "1");
}

TEST_CASE("a stream waits for a value before it copies") {
  const auto seen = Values("values");
  CHECK(seen.at("waits") == "600");
  CHECK(seen.at("out") == "new");
}

TEST_CASE("functions that are not supported exist and report it") {
  const auto seen = Values("unsupported");
  CHECK(seen.at("ipc") == "801");
  CHECK(seen.at("exists") == "1");
}

}  // namespace
}  // namespace stemtap::test
