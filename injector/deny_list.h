// SPDX-License-Identifier: Apache-2.0
//
// The deny-list: kernels that are never captured, because they wait for others. A kernel that is
// slowed down, serialised or replayed on one GPU while its peers on other GPUs wait for it hangs
// the program, and all its ranks with it. The table is deny_list.cpp's, and there is no other.
//
// A name that is denied by mistake costs little: its kernel is never captured, which the plan counts
// as uncovered time. One that is let through by mistake may cost the job; the watchdog is left then.
//
// THREADS: any.
#pragma once

namespace stemtap::inject {

// Why a kernel of this name must not be captured, as the end of a sentence; nullptr if it may be.
const char* WhyDenied(const char* symbol) noexcept;

// Of launches that are cooperative, whatever their name.
inline constexpr const char* kWhyCooperative = "cooperative: its blocks wait for each other";

}  // namespace stemtap::inject
