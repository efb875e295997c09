// SPDX-License-Identifier: Apache-2.0
//
// Checks with damaged files that every text importer must pass.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/memory_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"

namespace stemtap::test {

// Returns whether `text` can be read as a profile. On failure, the error must be one line that
// states what was expected.
inline bool CanRead(std::string_view text) {
  const auto message = [&]() -> std::string {
    auto reader = formats::OpenProfile(std::make_unique<MemorySource>("t.csv", text));
    if (!reader.ok()) return reader.error().message;
    const Result<model::Profile> profile = model::LoadProfile(*reader.value());
    return profile.ok() ? "" : profile.error().message;
  }();
  if (message.empty()) return true;
  CHECK(message.starts_with("t.csv:"));
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.find("expected") != std::string::npos);
  CHECK(message.size() < 1000);
  return false;
}

// A file truncated within its last row is rejected; a file with one changed byte is read or
// rejected. REQUIRES: `text` can be read and ends in a newline.
inline void CheckDamage(const std::string& text) {
  REQUIRE(CanRead(text));
  const std::size_t last_row = text.rfind('\n', text.size() - 2) + 1;
  for (std::size_t size = 0; size < text.size() - 1; ++size) {
    const bool read = CanRead(std::string_view(text).substr(0, size));
    // A row that ends in a closing quote is complete.
    if (size <= last_row || (size + 1 == text.size() && text[size - 1] == '"')) continue;
    CAPTURE(text.substr(last_row, size - last_row));
    CHECK_FALSE(read);
  }
  std::string damaged = text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char other : {'\0', '"', ',', '\n', '9', '-', '\xFF'}) {
      damaged[i] = other;
      CanRead(damaged);
    }
    damaged[i] = text[i];
  }
  // Some shells write redirected output as UTF-16.
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide.append({c, '\0'});
  CHECK_FALSE(CanRead(wide));
}

}  // namespace stemtap::test
