// SPDX-License-Identifier: Apache-2.0
//
// The entry point for NVTX. Each shared object of the program that uses NVTX calls it at its first
// NVTX call, if NVTX_INJECTION64_PATH names this library.
#include <sys/auxv.h>

#include "control/program_control.h"
#include "nvtx/nvtx_injection.h"
#include "startup/options.h"

namespace stemtap::inject {
namespace {

// If launches have no ranges, NVTX calls have no effect and cost as little as without this library.
bool WantsRanges() noexcept {
  return ::getauxval(AT_SECURE) == 0 && !Disabled() && MarksLaunches() &&
         ToolInProcess() == nullptr && !Control().closed();
}

}  // namespace
}  // namespace stemtap::inject

// Returns 0 if NVTX calls shall have no effect. NVTX then unloads this library, which the linker
// flag nodelete keeps in memory.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    stemtap::inject::nvtx::GetExportTable get_table) {
  namespace inject = stemtap::inject;
  return inject::WantsRanges() && inject::ConnectNvtx(get_table) ? 1 : 0;
}
