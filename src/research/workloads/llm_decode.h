// SPDX-License-Identifier: Apache-2.0
//
// The LLM decode workload is an invented recorded run: a language model answers one prompt after
// another, one token at a time. It stands in for a real profile where none may be shipped, and its
// truth is known. docs/formats/workloads.md describes every kernel, duration and source of noise.
//
// The script (prompts, answers, kernels, grids, order) depends on `seed` and the model alone, the
// noise (durations, start times) on `noise_seed`. The same options give the same records on every
// machine: each launch takes one draw of Rng and integer arithmetic; the only floating-point
// numbers are those from which the noise tables are made, and these are rounded to 1/65536.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "model/profile_reader.h"

namespace stemtap {

struct LlmDecodeOptions {
  std::uint64_t launches = 1'000'000;  // exactly that many; the last answer is cut short
  std::uint64_t seed = 1;
  std::uint64_t noise_seed = 0;  // 0: as seed; another value: a second run of the same launches
  unsigned layers = 12;
  unsigned heads = 16;               // of 128 elements each: 16 heads make a hidden size of 2048
  unsigned split_tokens = 256;       // context tokens that one split of decode attention covers
  unsigned warmup_launches = 2'000;  // run on clocks that are still cold; 0: no warm-up
  std::uint32_t outlier_one_in = 20'000;  // one launch in so many is 5 to 30 times slower; 0: none
  bool other_gpu = false;                 // as WorkloadOptions::other_gpu
};

// An error (exit code 2) when an option is out of its range.
Status ValidateLlmDecode(const LlmDecodeOptions& options);

// A reader of the run in constant memory, without metrics or warnings. When ValidateLlmDecode
// refuses `options`, its Read gives that error.
std::unique_ptr<ProfileReader> MakeLlmDecode(const LlmDecodeOptions& options);

}  // namespace stemtap
