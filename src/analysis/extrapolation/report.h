// SPDX-License-Identifier: Apache-2.0
//
// What `stemtap extrapolate` prints: a table for people, JSON for programs. See
// docs/formats/results.md.
#pragma once

#include <string>

#include "analysis/extrapolation/extrapolate.h"
#include "analysis/extrapolation/match.h"
#include "formats/results/kernel_results.h"
#include "model/plan.h"

namespace stemtap {

struct ExtrapolationReport {
  const Plan& plan;
  const KernelResults& results;
  const Match& match;
  const Extrapolation& extrapolation;
  double confidence = 0.95;
};

// Names are escaped.
std::string ReportText(const ExtrapolationReport& report);

// One JSON object and a newline. Numbers that cannot be given are null.
std::string ReportJson(const ExtrapolationReport& report);

// What the reader must know to trust the intervals, one line each; empty: nothing.
std::vector<std::string> Caveats(const ExtrapolationReport& report);

}  // namespace stemtap
