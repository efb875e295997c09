// SPDX-License-Identifier: Apache-2.0
//
// What every reader of a session's files promises, whatever they hold: it refuses them in one line,
// or it computes from numbers that belong together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/alignment/run.h"

namespace stemtap {

// The files of a session that a user may have edited, by the order of kEditedFiles.
inline constexpr const char* kEditedFiles[] = {"plan.json", "session.json", "overview.json",
                                               "cells.json"};

// SessionReaders holds sessions to be edited, in a directory of its own, and reads them as every
// command does.
class SessionReaders {
 public:
  // `scratch` must be empty.
  explicit SessionReaders(std::filesystem::path scratch);

  // How many sessions there are, and the texts of one, by kEditedFiles.
  std::size_t size() const { return sessions_.size(); }
  const std::vector<std::string>& texts(std::size_t session) const { return sessions_[session]; }

  struct Outcome {
    std::string broken;  // the promise that does not hold; empty: all do
    // The readers that took the files.
    bool plan = false;
    bool merged = false;
  };
  // Reads the session with other texts in place of its own.
  Outcome Read(std::size_t session, const std::vector<std::string>& texts);

 private:
  std::filesystem::path scratch_;
  Run run_;  // that of the first session
  std::vector<std::vector<std::string>> sessions_;
};

}  // namespace stemtap
