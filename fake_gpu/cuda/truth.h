// SPDX-License-Identifier: Apache-2.0
//
// Ground truth: number of launches and total native duration per kernel name, over loaded and
// unloaded modules. If FAKE_GPU_TRUTH is set, the truth is written to a file when the process
// exits:
//
//   # launches 10000 captured 12 capture_ns 60000000 graph_launches 2 graph_kernels 20
//     unrecorded 0 ... (one line)
//   10000<TAB>50000000<TAB>spin
//
// THREADS: any.
#pragma once

#include "cuda/objects.h"

namespace fake_gpu {

// A module is counted from Register until Retire, which keeps its sums.
void RegisterForTruth(CUmod_st& module);
void RetireForTruth(CUmod_st& module);

// Counts one launch of a graph with this number of kernels. The kernels also count as launches.
void CountGraphForTruth(std::uint64_t kernels);

// Sets the process that writes the truth, so that a forked child does not overwrite its parent's.
void SetTruthProcess();

}  // namespace fake_gpu
