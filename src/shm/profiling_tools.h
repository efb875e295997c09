// SPDX-License-Identifier: Apache-2.0
//
// How to recognize the profilers of CUDA's toolkit. Each claims CUPTI, or CUDA_INJECTION64_PATH, in
// the programs that it starts, so those programs cannot be recorded. ncu goes further: no program
// that it starts runs when that variable names a library.
//
// THREADS: any. Needs libc alone.
#pragma once

#include <string.h>

namespace stemtap::shm {

struct ProfilingTool {
  const char* name;
  const char* instead;  // what to do instead of running the tool under stemtap
};

inline constexpr ProfilingTool kNsightCompute = {
    "Nsight Compute (ncu)",
    "record the program alone, then profile its samples with 'stemtap export --to ncu'"};
inline constexpr ProfilingTool kNsightSystems = {
    "Nsight Systems (nsys)",
    "record the program alone, or give the report of nsys to 'stemtap plan'"};
inline constexpr ProfilingTool kComputeSanitizer = {"compute-sanitizer",
                                                    "record the program alone"};

struct ToolSign {
  const char* text;
  const ProfilingTool* tool;
};

// File names of the tools and of the processes that they consist of.
inline constexpr ToolSign kToolPrograms[] = {
    {"ncu", &kNsightCompute},          {"ncu-ui", &kNsightCompute},
    {"nv-nsight-cu", &kNsightCompute}, {"nv-nsight-cu-cli", &kNsightCompute},
    {"nsys", &kNsightSystems},         {"nsys-launcher", &kNsightSystems},
    {"nsys-ui", &kNsightSystems},      {"compute-sanitizer", &kComputeSanitizer}};

// Beginnings of variables that the tools set for the programs that they start.
inline constexpr ToolSign kToolVariables[] = {{"NSYS_PROFILING_SESSION_ID=", &kNsightSystems},
                                              {"QUADD_INJECTION_", &kNsightSystems},
                                              {"NV_NSIGHT_INJECTION_", &kNsightCompute},
                                              {"NV_SANITIZER_INJECTION_", &kComputeSanitizer}};

// Returns the tool that the file at `path` is, by its name; nullptr if it is none.
inline const ProfilingTool* ToolOfProgram(const char* path) noexcept {
  const char* slash = ::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const ToolSign& sign : kToolPrograms) {
    if (::strcmp(name, sign.text) == 0) return sign.tool;
  }
  return nullptr;
}

// Returns the tool that has started the process with this environment, and the variable that says
// so, NAME=VALUE, in `variable`; nullptr if there is none.
inline const ProfilingTool* ToolInEnvironment(const char* const* environment,
                                              const char*& variable) noexcept {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    for (const ToolSign& sign : kToolVariables) {
      if (::strncmp(*environment, sign.text, ::strlen(sign.text)) != 0) continue;
      variable = *environment;
      return sign.tool;
    }
  }
  return nullptr;
}

}  // namespace stemtap::shm
