// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by the writers for tools that trace one window per run and by the writers that
// filter a list.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/exporters/consumers.h"

namespace stemtap::formats {

// Returns the beginning of the script: what it is and what it expects.
std::string ScriptHead(const std::string& purpose, const std::string& comment, std::size_t runs);

// Calls `line` with each line of `text`, without its line end, until it returns false. Rows count
// from 1.
void ForEachLine(std::string_view text,
                 const std::function<bool(std::size_t row, std::string_view line)>& line);

// Returns an error if an element of `ids` is not in `met`.
Status CheckAllMet(const std::vector<std::uint64_t>& ids,
                   const std::map<std::uint64_t, std::size_t>& met, const std::string& list_name);

}  // namespace stemtap::formats
