// SPDX-License-Identifier: Apache-2.0
//
// Shared helpers for tests of text formats. They read text as the profile "t.csv" and detect its
// format from the content.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/memory_source.h"
#include "formats/importers/registry.h"
#include "model/profile.h"

namespace stemtap::formats {

// Returns `text` as a profile, read in pieces of `piece` bytes.
inline Result<model::Profile> Parse(std::string_view text, std::size_t piece = kReadBytes) {
  Result<std::unique_ptr<model::ProfileReader>> reader =
      OpenProfile(std::make_unique<MemorySource>("t.csv", text, piece));
  if (!reader.ok()) return reader.error();
  return model::LoadProfile(*reader.value());
}

inline model::Profile MustParse(std::string_view text, std::size_t piece = kReadBytes) {
  Result<model::Profile> profile = Parse(text, piece);
  if (!profile.ok()) FAIL(profile.error().message);
  return std::move(profile).value();
}

// Returns the error for `text`: one line that contains the file name and what was expected.
inline std::string ErrorOf(std::string_view text) {
  CAPTURE(text.substr(0, 200));
  const Result<model::Profile> profile = Parse(text);
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.error().message.find('\n') == std::string::npos);
  CHECK(profile.error().message.find("expected") != std::string::npos);
  CHECK(profile.error().message.starts_with("t.csv:"));
  CHECK(profile.error().exit_code == 1);
  return profile.error().message;
}

}  // namespace stemtap::formats
