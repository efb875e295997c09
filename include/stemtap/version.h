// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stemtap {

// Must equal the version in CMakeLists.txt; a test checks this.
inline constexpr const char kVersion[] = "0.1.0";

}  // namespace stemtap
