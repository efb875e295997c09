// SPDX-License-Identifier: Apache-2.0
//
// Receives the NVTX ranges of the program. All shared objects of the program share Control() and
// the handles of domains and strings.
//
// THREADS: any; several shared objects may connect at once.
#pragma once

#include "nvtx/nvtx_abi.h"

namespace stemtap::inject {

// Sets the range functions of one shared object. Returns false if it offers no functions.
bool ConnectNvtx(nvtx::GetExportTable get_table) noexcept;

}  // namespace stemtap::inject
