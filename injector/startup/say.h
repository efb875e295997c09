// SPDX-License-Identifier: Apache-2.0
//
// Prints the library's few messages to stderr, which belongs to the program.
#pragma once

namespace stemtap::inject {

// Prints "stemtap: WHAT: DETAIL". A closed stderr pipe does not end the program.
void SayOnStderr(const char* what, const char* detail) noexcept;

}  // namespace stemtap::inject
