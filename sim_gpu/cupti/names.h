// SPDX-License-Identifier: Apache-2.0
//
// Names of unloaded modules. Records that wait for delivery still point to them, so they are
// unmapped when the last buffer that may hold such a record has been delivered; who reads a name
// later, crashes.
//
// THREADS: any.
#pragma once

#include <cstddef>

namespace fake_cupti {

// Takes over a mapping of names: FakeGpuHooks::retire_names.
void RetireNames(void* mapping, std::size_t bytes);

// Unmaps what no buffer can point to any more. Called after deliveries.
void ReleaseRetiredNames();

}  // namespace fake_cupti
