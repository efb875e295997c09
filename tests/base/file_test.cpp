// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <doctest/doctest.h>

#include <string>

#include "base/memory_source.h"

namespace stemtap {
namespace {

TEST_CASE("a file is read completely, up to the limit") {
  const std::string text = "0123456789";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, kReadBytes}) {
    MemorySource fits("t", text, piece);
    const Result<std::string> read = ReadWhole(fits, 10, "digits");
    REQUIRE(read.ok());
    CHECK(read.value() == text);
    MemorySource longer("t", text, piece);
    const Result<std::string> refused = ReadWhole(longer, 9, "digits");
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message == "t: is longer than 9 bytes; expected digits");
  }
  MemorySource empty("t", "");
  CHECK(ReadWhole(empty, 0, "nothing").value().empty());
}

}  // namespace
}  // namespace stemtap
