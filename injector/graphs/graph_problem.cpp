// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_problem.h"

#include <stdio.h>

namespace stemtap::inject {

const char* WhyUnnamed(GraphProblem problem, char (&text)[160]) noexcept {
  const char* call =
      problem.call < static_cast<std::uint8_t>(GraphCall::kCount) ? kGraphCalls[problem.call] : "?";
  switch (problem.kind) {
    case GraphProblem::kNone:
    case GraphProblem::kUnseen:
      return "CUPTI did not report the instantiation of one";
    case GraphProblem::kDriverLacks:
      ::snprintf(text, sizeof(text), "the driver lacks %s; expected CUDA 12.3 or later", call);
      return text;
    case GraphProblem::kCuptiLacks:
      ::snprintf(text, sizeof(text), "this libcupti lacks %s", call);
      return text;
    case GraphProblem::kRefused:
      ::snprintf(text, sizeof(text), "CUPTI refused the callback of an instantiation, error %u",
                 problem.error);
      return text;
    case GraphProblem::kCallFailed:
      ::snprintf(text, sizeof(text), "%s failed, error %u", call, problem.error);
      return text;
    case GraphProblem::kInconsistent:
      return "the driver's description of one contradicts itself";
    case GraphProblem::kConditional:
      return "one has a conditional node, whose graphs the driver does not describe";
    case GraphProblem::kTooLarge:
      return "one has too many nodes or edges";
    case GraphProblem::kTooDeep:
      return "one has too many levels of child graphs";
    case GraphProblem::kNoMemory:
      return "no memory to read one";
    case GraphProblem::kTooManyNames:
      return "the program has too many different graphs";
  }
  return "";
}

}  // namespace stemtap::inject
