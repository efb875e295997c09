// SPDX-License-Identifier: Apache-2.0
//
// Modules: created with a context or by a library, and removed from both.
//
// THREADS: any.
#pragma once

#include "cuda/objects.h"

namespace fake_gpu {

// Creates a module, registers it for the ground truth and reports it to the simulated CUPTI.
std::unique_ptr<CUmod_st> NewModule(CUctx_st& context, bool uses_duration_model);

// Reports the end of a module and keeps its ground truth. The caller then destroys it, without a
// lock, because its names are handed to the simulated CUPTI.
void RetireModule(CUmod_st& module);

// Returns the function of this name, which is created on first use.
CUfunc_st* FunctionOf(CUmod_st& module, const char* name);

// Stores the address and the size of a variable. The size is not known, so a block of 1 MiB is
// allocated on first use. Placeholders have no variables.
CUresult GlobalOf(CUmod_st& module, const char* name, CUdeviceptr* address, std::size_t* bytes);

CUresult GetAttribute(const CUfunc_st& function, CUfunction_attribute attribute, int* out);
CUresult SetAttribute(CUfunc_st& function, CUfunction_attribute attribute, int value);

}  // namespace fake_gpu
