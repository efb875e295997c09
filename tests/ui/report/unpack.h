// SPDX-License-Identifier: Apache-2.0
//
// Decodes the output of PackedText with an independent implementation and captures written text.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_sink.h"
#include "base/byte_source.h"
#include "base/file.h"
#include "base/memory_source.h"

namespace stemtap::test {

// MemorySink stores written bytes. Writes fail once it contains `most` bytes.
class MemorySink : public ByteSink {
 public:
  explicit MemorySink(std::size_t most = SIZE_MAX) : most_(most) {}
  Status Write(std::string_view bytes) override {
    text += bytes;
    if (text.size() >= most_) return Error{"the sink is full"};
    return Success{};
  }
  Status Finish() override { return Success{}; }

  std::string text;

 private:
  std::size_t most_;
};

// Returns "" if `text` is not base64.
inline std::string FromBase64(std::string_view text) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  int have = 0;
  if (text.size() % 4 != 0) return {};
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const std::size_t value = kLetters.find(c);
    if (value == std::string_view::npos) return {};
    bits = bits << 6 | static_cast<unsigned>(value);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 255);
  }
  return bytes;
}

inline std::string Unpacked(std::string_view base64) {
  const std::string bytes = FromBase64(base64);
  auto source = Decompress(std::make_unique<MemorySource>("test", bytes));
  REQUIRE(source.ok());
  Result<std::string> text = ReadWhole(*source.value(), std::size_t{1} << 30, "a text");
  REQUIRE(text.ok());
  return std::move(text).value();
}

// Returns the data of a page: the text of the element `<script ... id="stemtap-data">`.
inline std::string DataOf(std::string_view page) {
  static constexpr std::string_view kBegin = "id=\"stemtap-data\">";
  const std::size_t begin = page.find(kBegin);
  REQUIRE(begin != std::string_view::npos);
  const std::string_view rest = page.substr(begin + kBegin.size());
  return Unpacked(rest.substr(0, rest.find('<')));
}

}  // namespace stemtap::test
