// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a plan.json. An accepted plan is written and read again, which must give
// the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/plan_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stemtap;
  const Result<model::Plan> plan =
      model::ParsePlan({reinterpret_cast<const char*>(data), size}, "input");
  if (!plan.ok()) {
    if (plan.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const std::string text = model::PlanToJson(plan.value());
  const Result<model::Plan> again = model::ParsePlan(text, "again");
  if (!again.ok() || model::PlanToJson(again.value()) != text) std::abort();
  return 0;
}
