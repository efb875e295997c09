// SPDX-License-Identifier: Apache-2.0
//
// Recognizes the profilers of the CUDA toolkit. Each of them uses CUPTI or CUDA_INJECTION64_PATH in
// the programs that it starts, so these programs cannot be recorded. Programs started by ncu do not
// run at all if CUDA_INJECTION64_PATH is set to a library.
//
// THREADS: any.
//
// Needs libc only.
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

// File names of the tools and their processes.
inline constexpr ToolSign kToolPrograms[] = {
    {"ncu", &kNsightCompute},          {"ncu-ui", &kNsightCompute},
    {"nv-nsight-cu", &kNsightCompute}, {"nv-nsight-cu-cli", &kNsightCompute},
    {"nsys", &kNsightSystems},         {"nsys-launcher", &kNsightSystems},
    {"nsys-ui", &kNsightSystems},      {"compute-sanitizer", &kComputeSanitizer}};

// Prefixes of environment variables that the tools set for the programs that they start.
inline constexpr ToolSign kToolVariables[] = {{"NSYS_PROFILING_SESSION_ID=", &kNsightSystems},
                                              {"QUADD_INJECTION_", &kNsightSystems},
                                              {"NV_NSIGHT_INJECTION_", &kNsightCompute},
                                              {"NV_SANITIZER_INJECTION_", &kComputeSanitizer}};

// Returns the tool with the file name of `path`, or nullptr.
inline const ProfilingTool* ToolOfProgram(const char* path) noexcept {
  const char* slash = ::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const ToolSign& sign : kToolPrograms) {
    if (::strcmp(name, sign.text) == 0) return sign.tool;
  }
  return nullptr;
}

// Returns the tool that started the process with this environment, or nullptr. Stores the variable
// that identifies the tool, NAME=VALUE, in `variable`.
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

// Returns whether a path names NVIDIA's CUPTI. As NVTX's injection library, it uses its only
// subscriber slot at the first range of the program. Some container images set
// NVTX_INJECTION64_PATH to it for all programs.
inline bool IsCuptiLibrary(const char* path) noexcept {
  constexpr char kName[] = "libcupti";
  const char* slash = ::strrchr(path, '/');
  return ::strncmp(slash == nullptr ? path : slash + 1, kName, sizeof(kName) - 1) == 0;
}

}  // namespace stemtap::shm
