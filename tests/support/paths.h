// SPDX-License-Identifier: Apache-2.0
//
// Where this build put what end-to-end tests start and preload. The values come from
// tests/support/CMakeLists.txt.
#pragma once

#include <filesystem>

namespace stemtap::test {

inline std::filesystem::path SourceDir() {
  return STEMTAP_TEST_SOURCE_DIR;
}
inline std::filesystem::path BuildDir() {
  return STEMTAP_TEST_BUILD_DIR;
}
// The command line program.
inline std::filesystem::path StemtapProgram() {
  return STEMTAP_TEST_STEMTAP;
}
// libstemtap_inject.so.
inline std::filesystem::path InjectorLibrary() {
  return STEMTAP_TEST_INJECTOR;
}
// The directory of the fake libcuda.so.1 and libcupti.so.13: put it into LD_LIBRARY_PATH.
inline std::filesystem::path FakeGpuDir() {
  return STEMTAP_TEST_FAKE_GPU_DIR;
}
// A program that tests run under the injector, by name (tests/programs).
inline std::filesystem::path TestProgram(const char* name) {
  return std::filesystem::path(STEMTAP_TEST_PROGRAM_DIR) / name;
}

}  // namespace stemtap::test
