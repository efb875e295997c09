// SPDX-License-Identifier: Apache-2.0
#include "fleet/seal.h"

#include <doctest/doctest.h>

#include <string>

namespace stemtap::fleet {
namespace {

TEST_CASE("a sealed value opens at its place") {
  for (const std::string value : {"", "x", "a longer value"}) {
    const std::string sealed = Sealed("sketches:run", "0f", value);
    CHECK(Opened("sketches:run", "0f", sealed) == value);
  }
}

TEST_CASE("a sealed value does not open at another key or field") {
  const std::string sealed = Sealed("sketches:run", "0f", "value");
  CHECK_FALSE(Opened("sketches:run", "10", sealed).has_value());
  CHECK_FALSE(Opened("sketches:other", "0f", sealed).has_value());
  CHECK_FALSE(Opened("0f", "sketches:run", sealed).has_value());
}

// Each of these 200 changes would match with a chance of 2^-32.
TEST_CASE("a value that was changed or cut does not open") {
  const std::string sealed = Sealed("runs", "run", "some value of a run");
  for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
    std::string changed = sealed;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    CHECK_FALSE(Opened("runs", "run", changed).has_value());
  }
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    CHECK_FALSE(Opened("runs", "run", sealed.substr(0, size)).has_value());
  }
}

}  // namespace
}  // namespace stemtap::fleet
