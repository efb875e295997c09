// SPDX-License-Identifier: Apache-2.0
//
// Reads session.json. See docs/formats/session.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap {

using SessionJson = nlohmann::ordered_json;

// A process takes 700 bytes, and twenty times that while it is read: a hundred thousand of them.
inline constexpr std::size_t kMaxSessionBytes = std::size_t{64} << 20;

// The session.json in `text`, whose fields have the types and ranges that every reader expects.
// `source` names the text in errors, which say the place: "run/session.json: counters.gaps: ...".
Result<SessionJson> ParseSession(std::string_view text, std::string_view source);

// Compares the counters of a session with the totals of its plan. Returns the first difference, or
// an empty string.
std::string CompareWithPlan(const SessionJson& session, const PlanTotals& totals);

}  // namespace stemtap
