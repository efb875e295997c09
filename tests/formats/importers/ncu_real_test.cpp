// SPDX-License-Identifier: Apache-2.0
// Prints the reports that come with the real ncu and reads them with every reader of ncu pages.
#include "support/real_ncu.h"

namespace stemtap::test {
namespace {

TEST_CASE("pages of the real ncu are read with the same values as by Python's csv module") {
  CheckWithRealNcu("formats/importers/ncu_real_pages.py", "values equal");
}

}  // namespace
}  // namespace stemtap::test
