// SPDX-License-Identifier: Apache-2.0
//
// Reads session.json. See docs/formats/session.md.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap::model {

using SessionJson = nlohmann::ordered_json;

// Room for a hundred thousand processes of 700 bytes. Parsing takes twenty times as much memory.
inline constexpr std::size_t kMaxSessionBytes = std::size_t{64} << 20;

// Parses the session.json in `text` and checks the types and ranges of the fields that readers use.
// `source` is the name of the text in error messages: "run/session.json: counters.gaps: ...".
Result<SessionJson> ParseSession(std::string_view text, std::string_view source);

// Compares the counters of a session with the totals of its plan. Returns the first difference, or
// an empty string.
std::string CompareWithPlan(const SessionJson& session, const PlanTotals& totals);

}  // namespace stemtap::model
