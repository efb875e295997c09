// SPDX-License-Identifier: Apache-2.0
#include "model/json_text.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stemtap::model {
namespace {

Status Check(const std::string& text) {
  return CheckJsonText(text, "run/session.json", "stemtap.session/1", "a session.json");
}

TEST_CASE("a document is an object with the expected schema; other fields are allowed") {
  CHECK(Check(R"({"schema":"stemtap.session/1"})").ok());
  CHECK(Check("\n {\"a\":[1,{\"schema\":\"other\"}],\"schema\":\"stemtap.session/1\",\"b\":null}\n")
            .ok());
}

TEST_CASE("an invalid document is rejected with the place of the error") {
  const std::string deep = R"({"schema":"stemtap.session/1","a":)" + std::string(100'000, '[');
  const struct {
    std::string text;
    std::vector<std::string> words;
  } cases[] = {
      {"", {"is not JSON"}},
      {"[]", {"is not an object"}},
      {"7", {"is not an object"}},
      {"{}", {"schema: is missing; expected 'stemtap.session/1'"}},
      {R"({"schema":7})", {"schema: is 7"}},
      {R"({"a":{"schema":"stemtap.session/1"}})", {"schema: is missing"}},
      {R"({"schema":{"x":"stemtap.session/1"}})", {"schema: is an object"}},
      {R"({"schema":"stemtap.plan/1"})", {"schema: is \"stemtap.plan/1\""}},
      {"{\"schema\":\"stemtap.session/1\",\n\"a\":1", {"ended early"}},
      {"{\"schema\":\"stemtap.session/1\",\n\"a\":NaN}", {"line 2"}},
      {R"({"schema":"stemtap.session/1"} {})", {"line 1"}},
      {R"({"schema":"stemtap.session/1","a":1e999})", {"line 1: is not JSON"}},
      {"{\"schema\":\"stemtap.session/1\",\"a\":\"\xFF\"}", {"UTF-8"}},
      {std::string("{\"schema\":\"stemtap.session/1\"}\0", 31), {"is not JSON"}},
      {R"({"schema":"stemtap.session/1","a":)" + std::string(1 << 20, '9') + "}", {"is not JSON"}},
      {deep, {"is not JSON"}},
      {deep + std::string(100'000, ']') + "}", {"nests deeper than 64"}},
      {R"({"schema":"stemtap.session/1","a":)" + std::string(64, '[') + std::string(64, ']') + "}",
       {"nests deeper than 64"}},
  };
  for (const auto& wrong : cases) {
    const std::string shown = wrong.text.substr(0, 60);
    CAPTURE(shown);
    const Status status = Check(wrong.text);
    REQUIRE(!status.ok());
    const std::string& message = status.error().message;
    CAPTURE(message);
    CHECK(message.starts_with("run/session.json: "));
    CHECK(message.find("expected") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 300);
    for (const std::string& word : wrong.words) {
      CAPTURE(word);
      CHECK(message.find(word) != std::string::npos);
    }
  }
}

TEST_CASE("an error in a long text does not quote the whole text") {
  const Status status = Check(R"({"schema":"stemtap.session/1","a":")" + std::string(4 << 20, 'x'));
  REQUIRE(!status.ok());
  CHECK(status.error().message.size() < 300);
}

}  // namespace
}  // namespace stemtap::model
