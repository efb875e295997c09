// SPDX-License-Identifier: Apache-2.0
//
// Real NVIDIA software that runs without a GPU: ncu, nsys, libcupti, libcuda. The program in the
// CMake variable STEMTAP_REAL_NVIDIA downloads it into a cache. If it is unavailable, tests that
// need it are skipped with a message:
//
//   const std::optional<std::filesystem::path> ncu = RealNvidia("ncu");
//   STEMTAP_SKIP_WITHOUT_REAL(ncu);
#pragma once

#include <filesystem>
#include <optional>

namespace stemtap::test {

// Returns the directory of the unpacked software: "driver", "cupti", "ncu" or "nsys". Returns
// nullopt if it is not available within three minutes. Looks up each kind once per process.
//
// THREADS: one caller.
std::optional<std::filesystem::path> RealNvidia(const char* kind);

}  // namespace stemtap::test

// Ends the test case with a message if `found`, a result of RealNvidia, is empty. Requires doctest.
#define STEMTAP_SKIP_WITHOUT_REAL(found)                                    \
  do {                                                                      \
    if (!(found)) {                                                         \
      MESSAGE(                                                              \
          "SKIPPED: real NVIDIA software is not available (CMake variable " \
          "STEMTAP_REAL_NVIDIA)");                                          \
      return;                                                               \
    }                                                                       \
  } while (false)
