// SPDX-License-Identifier: Apache-2.0
//
// The few lines that the library may write: stderr is the program's.
#pragma once

namespace stemtap::inject {

// "stemtap: WHAT: DETAIL". Where nobody reads stderr, nothing happens to the program.
void SayOnStderr(const char* what, const char* detail) noexcept;

}  // namespace stemtap::inject
