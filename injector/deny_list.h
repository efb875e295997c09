// SPDX-License-Identifier: Apache-2.0
//
// What the gate never captures: kernels by their names, wire/deny_list.h, and cooperative launches.
#pragma once

#include "wire/deny_list.h"

namespace stemtap::inject {

using wire::WhyDenied;

// Of launches that are cooperative, whatever their name.
inline constexpr const char* kWhyCooperative = "cooperative: its blocks wait for each other";

}  // namespace stemtap::inject
