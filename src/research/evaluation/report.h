// SPDX-License-Identifier: Apache-2.0
//
// The three output formats of an evaluation: a table for the terminal (at most 120 columns, names
// escaped), JSON (schema stemtap.evaluation/1) and CSV (one line per workload, method and error
// bound).
// SOURCE: docs/formats/evaluation.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "research/evaluation/equal_error.h"
#include "research/evaluation/evaluation.h"

namespace stemtap::research {

std::string EvaluationTable(const Evaluation& evaluation);
std::string EvaluationJson(const Evaluation& evaluation);
std::string EvaluationCsv(const Evaluation& evaluation);

// Returns one line per skipped method and reason, with the number of workloads; "" if no method
// was skipped.
std::string SkippedLines(const Evaluation& evaluation);

// The results of one comparison over several workloads.
struct EqualErrorReport {
  model::OptionList options;
  std::string one;
  std::string other;
  double error_bound = 0.0;
  std::vector<EvaluatedWorkload> workloads;
  std::vector<EqualError> results;  // by workload
};

std::string EqualErrorTable(const EqualErrorReport& report);
std::string EqualErrorJson(const EqualErrorReport& report);
std::string EqualErrorCsv(const EqualErrorReport& report);

}  // namespace stemtap::research
