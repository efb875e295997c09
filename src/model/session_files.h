// SPDX-License-Identifier: Apache-2.0
//
// File names of a finished session. See docs/formats/session.md.
#pragma once

namespace stemtap::model {

inline constexpr const char* kSessionFiles[] = {"mask.ndjson",  "overview.json", "plan.json",
                                                "session.json", "summary.txt",   "cells.json",
                                                "stemtap.log",  "ranks.json"};

// 'stemtap report' writes it into the directory of the session.
inline constexpr const char* kReportFileName = "report.html";

}  // namespace stemtap::model
