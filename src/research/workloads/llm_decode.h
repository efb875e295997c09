// SPDX-License-Identifier: Apache-2.0
//
// The LLM decode workload is a synthetic recorded run: a language model answers one prompt after
// another, one token at a time. It replaces real profiles that cannot be distributed, and its true
// total is known. docs/formats/workloads.md describes every kernel, duration and source of noise.
//
// The script (prompts, answers, kernels, grids, order) depends only on `seed` and the model; the
// noise (durations, start times) depends on `noise_seed`. The same options give the same records on
// every machine: each launch uses one draw of Rng and integer arithmetic. Floating-point numbers
// occur only in the computation of the noise tables, which are rounded to 1/65536.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "model/profile.h"

namespace stemtap::research {

struct LlmDecodeOptions {
  std::uint64_t launches = 1'000'000;  // exact number; the last answer is truncated
  std::uint64_t seed = 1;
  // 0: same as seed; another value: a second run of the same launches.
  std::uint64_t noise_seed = 0;
  unsigned layers = 12;
  unsigned heads = 16;               // of 128 elements each; 16 heads give a hidden size of 2048
  unsigned split_tokens = 256;       // context tokens per split of decode attention
  unsigned warmup_launches = 2'000;  // launches before the clocks have ramped up; 0: no warm-up
  // One in this many launches is 5 to 30 times slower; 0: none.
  std::uint32_t outlier_one_in = 20'000;
  bool other_gpu = false;  // see WorkloadOptions::other_gpu
};

// Returns an error (exit code 2) if an option is out of range.
Status ValidateLlmDecode(const LlmDecodeOptions& options);

// Returns a reader of the run that uses constant memory and has no metrics or warnings. If
// ValidateLlmDecode rejects `options`, its Read returns that error.
std::unique_ptr<model::ProfileReader> MakeLlmDecode(const LlmDecodeOptions& options);

}  // namespace stemtap::research
