// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stemtap {

// Kept equal to the version in CMakeLists.txt by a test.
inline constexpr const char kVersion[] = "0.1.0";

}  // namespace stemtap
