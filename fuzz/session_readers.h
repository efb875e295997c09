// SPDX-License-Identifier: Apache-2.0
//
// The contract of every reader of a session's files: for any content, it returns a one-line error
// or computes from consistent numbers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/alignment/alignment.h"

namespace stemtap {

// The files of a session that a user may have edited, in the order of kEditedFiles.
inline constexpr const char* kEditedFiles[] = {"plan.json", "session.json", "overview.json",
                                               "cells.json"};

// SessionReaders owns the sessions to edit, in its own directory, and reads them with every reader.
class SessionReaders {
 public:
  // `scratch` must be empty.
  explicit SessionReaders(std::filesystem::path scratch);

  // Returns the number of sessions, and the texts of one session in the order of kEditedFiles.
  std::size_t size() const { return sessions_.size(); }
  const std::vector<std::string>& texts(std::size_t session) const { return sessions_[session]; }

  struct Outcome {
    std::string broken;  // the violated condition; empty if none
    // The readers that accepted the files.
    bool plan = false;
    bool merged = false;
  };
  // Reads the session with `texts` in place of its own files.
  Outcome Read(std::size_t session, const std::vector<std::string>& texts);

 private:
  std::filesystem::path scratch_;
  analysis::Run run_;  // the run of the first session
  std::vector<std::vector<std::string>> sessions_;
};

}  // namespace stemtap
