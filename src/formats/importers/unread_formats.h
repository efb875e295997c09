// SPDX-License-Identifier: Apache-2.0
//
// Formats of other tools that are recognized but not read. The error message contains the tool and
// the command that produces a readable profile. Like profile formats, they are recognized by
// content.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap::formats {

struct UnreadFormat {
  std::string_view name;    // the kind of file and its tool
  std::string_view advice;  // what to do, with a command
  // Returns whether a file that starts with `leading` has this format.
  bool (*detect)(std::string_view leading);
};

// Returns the formats in order of detection.
std::span<const UnreadFormat> UnreadFormats();

// Returns advice about the file `name`, with the path in place of FILE, quoted for a shell. FILE
// stays if the input is no file.
std::string AdviceFor(const std::string& name, std::string_view advice);

// Returns the error for the file `name`, which starts with `leading`, or nullopt if no format
// matches.
std::optional<Error> RefuseUnread(const std::string& name, std::string_view leading);

}  // namespace stemtap::formats
