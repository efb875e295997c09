// SPDX-License-Identifier: Apache-2.0
//
// TableFlags are the options of commands that print a table of kernels: --sort, --top, --filter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/row_view.h"
#include "session/flags/command_line.h"

namespace stemtap::ui {

class TableFlags {
 public:
  // Adds the options to `command`, which refers to this object. The first key of `sort_keys` is the
  // default. `top` is the default of --top, 0: all rows.
  void AddTo(session::CommandSpec& command, std::vector<std::string> sort_keys,
             std::uint64_t top = 0);

  model::RowChoice Choice() const;

 private:
  std::string sort_;
  std::uint64_t top_ = 0;  // 0: all
  std::string filter_;
};

// Returns a usage error if an option of the table is given together with --json, which prints the
// whole file `name`.
Status CheckWholeJson(const session::CommandSpec& parsed, const char* name);

}  // namespace stemtap::ui
