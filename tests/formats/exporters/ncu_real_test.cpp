// SPDX-License-Identifier: Apache-2.0
// Runs the exported ncu commands with the real ncu in import mode.
#include "support/real_ncu.h"

namespace stemtap::test {
namespace {

TEST_CASE("real ncu selects exactly the planned launches") {
  CheckWithRealNcu("formats/exporters/ncu_real_filters.py", "select the planned launches");
}

}  // namespace
}  // namespace stemtap::test
