// SPDX-License-Identifier: Apache-2.0
//
// Kernel names of unloaded modules. Pending records still point to them, so they are unmapped when
// the last buffer that may contain the record is delivered. Reading a name later crashes.
//
// THREADS: any.
#pragma once

#include <cstddef>

namespace fake_cupti {

// Takes ownership of a mapping of names (FakeGpuHooks::retire_names).
void RetireNames(void* mapping, std::size_t bytes);

// Unmaps names that no buffer can point to any more. Called after deliveries.
void ReleaseRetiredNames();

}  // namespace fake_cupti
