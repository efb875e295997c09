// SPDX-License-Identifier: Apache-2.0
//
// A seal is a hash of a value and its place on the server, at the end of the value. If the value is
// damaged, cut or moved, the seal does not match. Many such values can be unpacked, and would be
// taken for launches of the job. A seal protects against accidents only: anyone can make one.
//
// THREADS: functions without state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stemtap::fleet {

// Appends the seal of a value that is stored at `key` and, if that is a hash, `field`.
std::string Sealed(std::string_view key, std::string_view field, std::string value);

// Returns the value without its seal, which must match, as a part of `sealed`.
std::optional<std::string_view> Opened(std::string_view key, std::string_view field,
                                       std::string_view sealed);

}  // namespace stemtap::fleet
