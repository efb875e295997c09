// SPDX-License-Identifier: Apache-2.0
//
// The page that a report is, as the directory report/ builds it: one HTML file that asks for nothing else, with
// kDataPlaceholder once in it, where the session belongs. It is part of the program.
#pragma once

#include <string_view>

namespace stemtap {

inline constexpr std::string_view kDataPlaceholder = "@STEMTAP_DATA@";

// Empty where stemtap was built without it: it takes Node.js to build (cmake/ReportPage.cmake).
std::string_view ReportPage();

}  // namespace stemtap
