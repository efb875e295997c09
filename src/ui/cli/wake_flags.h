// SPDX-License-Identifier: Apache-2.0
//
// WakeFlags are the options of commands that start the recording of a process that has no session
// yet: 'stemtap start PID' and 'stemtap attach PID'.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "session/flags/command_line.h"

namespace stemtap::ui {

class WakeFlags {
 public:
  // `of`: begins the help texts.
  void AddTo(session::CommandSpec& command, const std::string& of);
  // Returns the variables of the process that the options replace.
  Result<std::vector<std::string>> Variables() const;
  bool empty() const { return output_.empty() && level_.empty(); }

 private:
  std::string output_;
  std::string level_;
};

}  // namespace stemtap::ui
