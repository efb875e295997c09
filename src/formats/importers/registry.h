// SPDX-License-Identifier: Apache-2.0
//
// The table of profile formats that can be read, and the only way to open a profile. The leading
// bytes of the decompressed content determine the format, never the file name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "formats/importers/importers.h"
#include "model/profile.h"

namespace stemtap::formats {

// Number of leading bytes that determine the format. It exceeds what programs print before a
// profiler's table. Detectors must not need whole lines, because the header of an ncu page can be
// longer.
inline constexpr std::size_t kDetectBytes = std::size_t{64} * 1024;

struct ProfileFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;  // a command that writes or reads such a file
  // Returns whether a file that starts with `leading` has this format.
  bool (*detect)(std::string_view leading);
  // Whether the reader stores all launches in memory or on disk before it returns the first. The
  // decompressed size of compressed content is then limited.
  bool held;
  Result<std::unique_ptr<model::ProfileReader>> (*open)(std::unique_ptr<ByteSource> source,
                                                        Marks marks);
  bool operators = false;  // whether Marks::kOperators can be read
};

// Returns the formats in order of detection.
std::span<const ProfileFormat> ProfileFormats();

// Opens the profile at `path`; "-" is standard input.
Result<std::unique_ptr<model::ProfileReader>> OpenProfile(const std::string& path,
                                                          ReadWatch watch = {},
                                                          Marks marks = Marks::kRead);

// Opens a profile from a source of decompressed content.
Result<std::unique_ptr<model::ProfileReader>> OpenProfile(std::unique_ptr<ByteSource> source,
                                                          Marks marks = Marks::kRead);

}  // namespace stemtap::formats
