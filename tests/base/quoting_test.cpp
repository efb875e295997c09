// SPDX-License-Identifier: Apache-2.0
#include "base/quoting.h"

#include <doctest/doctest.h>

namespace stemtap {
namespace {

TEST_CASE("JSON keeps its value when invisible characters are escaped") {
  CHECK(EscapeJson("{\"a\":[1,\"b\\n\"]}\n") == "{\"a\":[1,\"b\\n\"]}\n");
  CHECK(EscapeJson("\"\x7F\xC2\x9B\xE2\x80\xAE\xC3\xA4\"") == "\"\\u007f\\u009b\\u202e\xC3\xA4\"");
  CHECK(EscapeJson("\"\xF3\xA0\x81\x81\"") == "\"\\udb40\\udc41\"");  // U+E0041
}

}  // namespace
}  // namespace stemtap
