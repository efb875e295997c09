// SPDX-License-Identifier: Apache-2.0
// Makes a few thousand deterministic edits like those that fuzz_session makes for minutes.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "fuzz/json_edits.h"
#include "fuzz/session_readers.h"
#include "support/temp_dir.h"

namespace stemtap::session {
namespace {

TEST_CASE("edits of a JSON text replace, repeat and remove the selected values") {
  const std::string text = R"({"a": [1, {"b,]": "x\"}"}], "c": null})";
  const std::vector<JsonPlace> places = JsonPlaces(text);
  REQUIRE(places.size() == 5);
  CHECK(text.substr(places[0].begin, places[0].end - places[0].begin) ==
        R"("a": [1, {"b,]": "x\"}"}])");
  CHECK(text.substr(places[3].value, places[3].end - places[3].value) == R"("x\"}")");
  const auto edited = [&](std::uint16_t place, std::uint8_t deed, std::uint8_t value) {
    std::string copy = text;
    EditJson(copy, place, deed, value);
    return copy;
  };
  CHECK(edited(0, 0, 0) == R"({ "c": null})");
  CHECK(edited(4, 0, 0) == R"({"a": [1, {"b,]": "x\"}"}]})");
  CHECK(edited(3, 0, 0) == R"({"a": [1, {}], "c": null})");
  CHECK(edited(4, 1, 0) == R"({"a": [1, {"b,]": "x\"}"}], "c": null, "c": null})");
  CHECK(edited(1, 4, 0) == R"({"a": [2, {"b,]": "x\"}"}], "c": null})");
  CHECK(edited(1, 3, 2) == R"({"a": [null, {"b,]": "x\"}"}], "c": null})");
}

TEST_CASE("edited session files are rejected or give a merged session that adds up") {
  const test::TempDir scratch;
  SessionReaders readers(scratch.path());
  REQUIRE(readers.size() == 2);
  for (std::size_t session = 0; session < readers.size(); ++session) {
    CAPTURE(session);
    const SessionReaders::Outcome whole = readers.Read(session, readers.texts(session));
    CHECK(whole.broken == "");
    CHECK(whole.plan);
    CHECK(whole.merged);
  }
  Rng rng(20261122);
  std::size_t read = 0;
  std::size_t merged = 0;
  constexpr std::size_t kRounds = 2000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    const std::size_t session = rng.Next() % readers.size();
    std::vector<std::string> texts = readers.texts(session);
    std::string edits;
    for (std::uint64_t left = 1 + rng.Next() % 3; left > 0; --left) {
      const std::uint64_t draw = rng.Next();
      const std::size_t file = draw % texts.size();
      EditJson(texts[file], static_cast<std::uint16_t>(draw >> 8),
               static_cast<std::uint8_t>(draw >> 24), static_cast<std::uint8_t>(draw >> 32));
      edits += std::string(kEditedFiles[file]) + " " + std::to_string(draw >> 8) + ", ";
    }
    const SessionReaders::Outcome outcome = readers.Read(session, texts);
    CAPTURE(round);
    CAPTURE(edits);
    CHECK(outcome.broken == "");
    read += outcome.plan;
    merged += outcome.merged;
  }
  // Some edits must be accepted and some rejected. Otherwise, the test could not find a defect.
  CHECK(read > kRounds / 10);
  CHECK(read < kRounds * 9 / 10);
  CHECK(merged > kRounds / 20);
}

}  // namespace
}  // namespace stemtap::session
