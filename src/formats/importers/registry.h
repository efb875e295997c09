// SPDX-License-Identifier: Apache-2.0
//
// The table of profile formats that can be read, and the one way to open a profile. The format is
// found by the leading bytes of the decompressed content, never by the file's name.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

// How much of a file decides its format. Larger than what programs print before a profiler's table;
// detectors must not need whole lines, for the header of an ncu page can be longer.
inline constexpr std::size_t kDetectBytes = std::size_t{64} * 1024;

struct ProfileFormat {
  std::string_view name;
  std::string_view description;
  std::string_view example;  // a command that makes or reads one
  // Whether a file that begins with `leading` is of this format.
  bool (*detect)(std::string_view leading);
  // Whether the reader holds all launches before it gives the first, in memory or on a disk: what
  // compressed content may unpack to is then limited.
  bool held;
  Result<std::unique_ptr<ProfileReader>> (*open)(std::unique_ptr<ByteSource> source);
};

// In order of detection.
std::span<const ProfileFormat> ProfileFormats();

// Opens the profile at `path`; "-" is standard input.
Result<std::unique_ptr<ProfileReader>> OpenProfile(const std::string& path, ReadWatch watch = {});

// The same from a source of decompressed content.
Result<std::unique_ptr<ProfileReader>> OpenProfile(std::unique_ptr<ByteSource> source);

}  // namespace stemtap
