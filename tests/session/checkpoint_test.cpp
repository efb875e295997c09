// SPDX-License-Identifier: Apache-2.0
#include "session/checkpoint.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stemtap::session {
namespace {

TEST_CASE("a checkpoint contains its files byte for byte") {
  const std::vector<SessionFile> files = {
      {"plan.json", "{\n}\n"}, {"empty", ""}, {"summary.txt", std::string("a\0b\n1 2\n", 8)}};
  const auto unpacked = UnpackFiles(PackFiles(files), "checkpoint");
  REQUIRE(unpacked.ok());
  REQUIRE(unpacked.value().size() == files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(unpacked.value()[i].name == files[i].name);
    CHECK(unpacked.value()[i].content == files[i].content);
  }
  CHECK(UnpackFiles(PackFiles({}), "checkpoint").value().empty());
}

TEST_CASE("a damaged checkpoint is refused in one line, wherever it is cut") {
  const std::string whole = PackFiles({{"plan.json", "{}\n"}, {"session.json", "[1, 2]\n"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto cut = UnpackFiles(whole.substr(0, size), "run/checkpoint");
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.error().message == "run/checkpoint: is damaged; expected a checkpoint");
  }
  CHECK_FALSE(UnpackFiles(whole + "x", "c").ok());
  CHECK_FALSE(UnpackFiles("stemtap.checkpoint/1 1\nplan.json 18446744073709551615\n{}", "c").ok());
  CHECK_FALSE(UnpackFiles("stemtap.checkpoint/2 0\n", "c").ok());
}

}  // namespace
}  // namespace stemtap::session
