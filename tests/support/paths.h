// SPDX-License-Identifier: Apache-2.0
//
// Paths of the built programs and libraries that end-to-end tests use. tests/support/CMakeLists.txt
// defines the values.
#pragma once

#include <filesystem>

namespace stemtap::test {

inline std::filesystem::path SourceDir() {
  return STEMTAP_TEST_SOURCE_DIR;
}
inline std::filesystem::path BuildDir() {
  return STEMTAP_TEST_BUILD_DIR;
}
// Returns the command-line program.
inline std::filesystem::path StemtapProgram() {
  return STEMTAP_TEST_STEMTAP;
}
// Returns libstemtap_inject.so.
inline std::filesystem::path InjectorLibrary() {
  return STEMTAP_TEST_INJECTOR;
}
// Returns the directory of the simulated libcuda.so.1 and libcupti.so.13, for LD_LIBRARY_PATH.
inline std::filesystem::path FakeGpuDir() {
  return STEMTAP_TEST_FAKE_GPU_DIR;
}
// Returns a program of tests/programs that tests run under the injector.
inline std::filesystem::path TestProgram(const char* name) {
  return std::filesystem::path(STEMTAP_TEST_PROGRAM_DIR) / name;
}

}  // namespace stemtap::test
