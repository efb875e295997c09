// SPDX-License-Identifier: Apache-2.0
//
// Names of the types of session.json (model/session.h) that this module fills in.
#pragma once

#include "model/session.h"

namespace stemtap::session {

using model::DeviceTotals;
using model::ProcessReport;
using model::ProcessState;
using model::SessionCounts;
using model::StreamTotals;

}  // namespace stemtap::session
