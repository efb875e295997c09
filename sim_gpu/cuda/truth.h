// SPDX-License-Identifier: Apache-2.0
//
// Ground truth: how often each kernel name was launched and how long it ran, native time, summed
// over modules that live and modules that are gone. With FAKE_GPU_TRUTH it is written to a file
// when the process exits:
//
//   # launches 10000 captured 12 capture_ns 60000000 buffers_lent 9 buffers_unreturned 0 ...
//   10000<TAB>50000000<TAB>spin
//
// THREADS: any.
#pragma once

#include "cuda/objects.h"

namespace fake_gpu {

// A module is counted from Register until Retire, which keeps its sums.
void RegisterForTruth(CUmod_st& module);
void RetireForTruth(CUmod_st& module);

// The process from which the truth is written: a forked child does not overwrite its parent's.
void SetTruthProcess();

}  // namespace fake_gpu
