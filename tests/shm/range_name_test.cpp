// SPDX-License-Identifier: Apache-2.0
#include "shm/range_name.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace stemtap::shm {
namespace {

// The text is at the end of its memory, so that sanitizers find reads beyond it.
std::string StablePart(std::string_view text) {
  const std::vector<char> exact(text.begin(), text.end());
  const auto bytes = static_cast<std::uint32_t>(exact.size());
  return std::string(text.substr(0, StableLength(exact.data(), bytes)));
}

TEST_CASE("a range name ends before the numbers of the call") {
  CHECK(StablePart("aten::add, seq = 12, op_id = 34") == "aten::add");
  CHECK(StablePart("aten::add, op_id = 34") == "aten::add");
  CHECK(StablePart("AddBackward0, seq = 1") == "AddBackward0");
  CHECK(StablePart("f(a, b), seq = 3, sizes = [[2, 3], []]") == "f(a, b)");
  CHECK(StablePart("x, op_id = 7, seq = 2") == "x");
}

TEST_CASE("other range names are kept whole") {
  for (const std::string_view name :
       {"", ",", "decode", "f(a, b, c, d)", "a, seq: 3 words", "a, op_id: 34", "a, op_id 345",
        ", seq = 12", "a, seq =", "a,seq = 12", "a sequence = 12"}) {
    CHECK(StablePart(name) == name);
  }
}

TEST_CASE("a name that is cut at any byte is read only to its end") {
  const std::string name = "aten::add, sequel, seq = 12";
  for (std::size_t bytes = 0; bytes < name.size(); ++bytes) {
    const std::string cut = name.substr(0, bytes);
    CHECK(StablePart(cut) == (bytes > 17 + 8 ? "aten::add, sequel" : cut));
  }
}

}  // namespace
}  // namespace stemtap::shm
