// SPDX-License-Identifier: Apache-2.0
//
// Prints the library's few messages to stderr, which belongs to the program.
#pragma once

namespace stemtap::inject {

// Prints "stemtap: WHAT: DETAIL". Bytes of DETAIL other than printable ASCII are escaped as \xHH:
// paths and messages of the loader could control a terminal. A closed stderr pipe does not end the
// program. Rarely called, so the compiler optimizes it and its callers' branches for size.
[[gnu::cold]] void SayOnStderr(const char* what, const char* detail) noexcept;

}  // namespace stemtap::inject
