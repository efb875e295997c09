// SPDX-License-Identifier: Apache-2.0
//
// What the writers for tools of one window per run, and those that take a part of a list, share.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/exporters/consumers.h"

namespace stemtap {

// A script that runs the program given to it once per window of consecutive ids. `command` is the
// shell code of one run, from 1; "$@" is the program.
Result<Exported> WriteWindowScript(
    const ExportInput& input, const std::string& purpose, const std::string& comment,
    const std::function<std::string(std::size_t run, const IdRange& window)>& command);

// The beginning of such a script: what it is, and what it wants.
std::string ScriptHead(const std::string& purpose, const std::string& comment, std::size_t runs);

// Calls `line` with each line of `text`, from row 1, without its end, until it returns false.
void ForEachLine(std::string_view text,
                 const std::function<bool(std::size_t row, std::string_view line)>& line);

// An error if an id of `ids` is not in `met`.
Status CheckAllMet(const std::vector<std::uint64_t>& ids,
                   const std::map<std::uint64_t, std::size_t>& met, const std::string& list_name);

}  // namespace stemtap
