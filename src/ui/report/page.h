// SPDX-License-Identifier: Apache-2.0
//
// The report page built by the directory report/: one self-contained HTML file with one
// kDataPlaceholder at the position of the session data. The page is embedded in the program.
#pragma once

#include <string_view>

namespace stemtap::ui {

inline constexpr std::string_view kDataPlaceholder = "@STEMTAP_DATA@";

// Returns the page, or an empty string if stemtap was built without it. Building it requires
// Node.js (cmake/ReportPage.cmake).
std::string_view ReportPage();

}  // namespace stemtap::ui
