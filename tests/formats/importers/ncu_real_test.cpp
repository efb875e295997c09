// SPDX-License-Identifier: Apache-2.0
// Prints the reports that come with the real ncu and reads them with every reader of ncu pages.
#include "support/real_ncu.h"

namespace stemtap::test {
namespace {

TEST_CASE("pages of real ncu are read as Python's csv module counts them") {
  CheckWithRealNcu("formats/importers/ncu_real_pages.py", "values equal");
}

}  // namespace
}  // namespace stemtap::test
