// SPDX-License-Identifier: Apache-2.0
//
// The formats of other tools that are recognized but not read, so that a message can name the tool and
// the command that leads to a profile. Like the profile formats, they are recognized by content.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stemtap {

struct UnreadFormat {
  std::string_view name;    // what the file is, with its tool
  std::string_view advice;  // what to do, with a command
  // Whether a file that begins with `leading` is of this format.
  bool (*detect)(std::string_view leading);
};

// In order of detection.
std::span<const UnreadFormat> UnreadFormats();

// The error for the file `name`, which begins with `leading`; nothing if it is of none of them.
std::optional<Error> RefuseUnread(const std::string& name, std::string_view leading);

}  // namespace stemtap
