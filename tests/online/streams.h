// SPDX-License-Identifier: Apache-2.0
//
// Generates the streams of launches with which the bound and the spread of online captures are
// measured. Each is a program that a GPU may run: steady, drifting, with warm-up, phases or modes.
//
// UNITS: ns.
#pragma once

#include <cstdint>
#include <span>

#include "online/bound_harness.h"

namespace stemtap::test {

struct StreamKind {
  const char* name;
  // Durations have the same distribution in all parts of the run.
  bool stationary;
  // Returns `launches` launches. Different seeds give different launches of the same program.
  LaunchStream (*make)(std::uint64_t launches, std::uint64_t seed);
};

// Returns all streams.
std::span<const StreamKind> StreamKinds();

}  // namespace stemtap::test
