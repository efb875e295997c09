// SPDX-License-Identifier: Apache-2.0
// The reports that come with real ncu, printed by it and read by every reader of its pages.
#include "support/real_ncu.h"

namespace stemtap::test {
namespace {

TEST_CASE("pages of real ncu are read as Python's csv module counts them") {
  CheckWithRealNcu("formats/importers/ncu_real_pages.py", "values equal");
}

}  // namespace
}  // namespace stemtap::test
