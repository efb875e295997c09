// SPDX-License-Identifier: Apache-2.0
//
// Tests modules, libraries and occupancy of the simulated driver.
#include <doctest/doctest.h>

#include <string>

#include "probed.h"

namespace stemtap::test {
namespace {

TEST_CASE("a kernel of a library is launched as a function and is recorded with its name") {
  const auto seen = Values("library");
  CHECK(seen.at("name") == "of_library");
  CHECK(seen.at("kernels") == "1");
  CHECK(seen.at("unload_module") == "400");  // the library owns its module
  CHECK(seen.at("recorded") == "of_library of_library ");
  CHECK(seen.at("launches") == "2");
}

TEST_CASE("variables exist in real code only, and are zero") {
  const auto seen = Values("globals");
  CHECK(seen.at("placeholder") == "500");
  CHECK(seen.at("same") == "1");
  CHECK(seen.at("bytes") == "1048576");
  CHECK(seen.at("zero") == "1");
}

TEST_CASE("linking returns an image that can be loaded") {
  CHECK(Values("link").at("bytes") == "64");
}

TEST_CASE("attributes of functions are stored, and occupancy follows the limits of an H100") {
  const auto seen = Values("attributes");
  CHECK(seen.at("binary_version") == "90");
  CHECK(seen.at("too_large") == "1");
  CHECK(seen.at("shared") == "102400");
  CHECK(seen.at("small_blocks") == "32");
  CHECK(seen.at("large_blocks") == "2");
  CHECK(seen.at("shared_blocks") == "2");
  CHECK(seen.at("impossible_blocks") == "0");
  CHECK(seen.at("potential") == "264 1024");
}

}  // namespace
}  // namespace stemtap::test
