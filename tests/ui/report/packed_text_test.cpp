// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "base/rng.h"
#include "ui/report/page.h"
#include "ui/report/unpack.h"

namespace stemtap::ui {
namespace {

std::string Packed(std::string_view text, std::size_t piece) {
  test::MemorySink sink;
  PackedText packed(sink);
  for (std::size_t at = 0; at < text.size(); at += piece) {
    REQUIRE(packed.Write(text.substr(at, piece)).ok());
  }
  REQUIRE(packed.Finish().ok());
  return sink.text;
}

TEST_CASE("packed text is restored for every length modulo three") {
  std::string text;
  for (int size = 0; size < 60; ++size) {
    CAPTURE(size);
    const std::string packed = Packed(text, 7);
    CHECK(packed.find_first_not_of(
              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
          std::string::npos);
    CHECK(test::Unpacked(packed) == text);
    text += static_cast<char>('!' + size * 37 % 90);
  }
}

TEST_CASE("packed text of several megabytes is restored, in pieces or at once") {
  Rng rng(1);
  std::string text;
  for (int i = 0; i < 3'000'000; ++i) text += static_cast<char>(rng.Next() & 255);
  CHECK(test::Unpacked(Packed(text, 1000)) == text);
  CHECK(test::Unpacked(Packed(text, text.size())) == text);
}

TEST_CASE("a full disk is reported") {
  test::MemorySink full(10);
  PackedText packed(full);
  const Status written = packed.Write("a text");
  const Status finished = packed.Finish();
  CHECK((!written.ok() || !finished.ok()));
}

}  // namespace
}  // namespace stemtap::ui
