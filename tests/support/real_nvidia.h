// SPDX-License-Identifier: Apache-2.0
//
// Real NVIDIA software that runs without a GPU: ncu, nsys, libcupti, libcuda. The program that the
// CMake variable STEMTAP_REAL_NVIDIA names downloads it into a cache. Tests that need it skip,
// visibly, where it cannot be had:
//
//   const std::optional<std::filesystem::path> ncu = RealNvidia("ncu");
//   STEMTAP_SKIP_WITHOUT_REAL(ncu);
#pragma once

#include <filesystem>
#include <optional>

namespace stemtap::test {

// Returns the directory with the unpacked software of one kind: "driver", "cupti", "ncu" or "nsys".
// Returns nothing where it cannot be had within three minutes. Each kind is looked up once per
// process.
//
// THREADS: one test thread.
std::optional<std::filesystem::path> RealNvidia(const char* kind);

}  // namespace stemtap::test

// Ends the test case with a message when `found`, a result of RealNvidia, is empty. Needs doctest.
#define STEMTAP_SKIP_WITHOUT_REAL(found)                                    \
  do {                                                                      \
    if (!(found)) {                                                         \
      MESSAGE(                                                              \
          "SKIPPED: real NVIDIA software is not available (CMake variable " \
          "STEMTAP_REAL_NVIDIA)");                                          \
      return;                                                               \
    }                                                                       \
  } while (false)
