// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_id.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stemtap::model {
namespace {

// Kernels in ascending order, all different.
std::vector<KernelId> Ascending() {
  return {
      {"gemm"},
      {"gemm", 0, {{1, 1, 1}, {32, 1, 1}}},
      {"gemm", 0, {{2, 1, 1}, {32, 1, 1}}},
      {"gemm", 0, {{2, 1, 1}, {64, 1, 1}}},
      {"gemm", 0, {{10, 1, 1}, {32, 1, 1}}},
      {"gemm", 42},
      {"relu"},
  };
}

TEST_CASE("kernels are equal only if name, process and configuration are, and have one order") {
  const std::vector<KernelId> ids = Ascending();
  for (std::size_t a = 0; a < ids.size(); ++a) {
    for (std::size_t b = 0; b < ids.size(); ++b) {
      CAPTURE(a);
      CAPTURE(b);
      CHECK((ids[a] == ids[b]) == (a == b));
      CHECK((ids[a] < ids[b]) == (a < b));
      CHECK((KernelIdHash{}(ids[a]) == KernelIdHash{}(ids[b])) == (a == b));
    }
  }
}

TEST_CASE("the label of a kernel is its name and what distinguishes it") {
  CHECK(KernelLabel({"gemm"}) == "gemm");
  CHECK(KernelLabel({"gemm", 42}) == "gemm process 42");
  CHECK(KernelLabel({"gemm", 0, {{2, 3, 1}, {32, 4, 1}}}) == "gemm grid 2x3x1 block 32x4x1");
  CHECK(KernelLabel({"gemm", 7, {{2, 1, 1}, {32, 1, 1}}}) ==
        "gemm grid 2x1x1 block 32x1x1 process 7");
}

TEST_CASE("a file lists each kernel once, unless its kernels can have equal ids") {
  ListedKernels listed;
  for (const KernelId& id : Ascending()) CHECK(listed.Add(id, false));
  for (const KernelId& id : Ascending()) CHECK_FALSE(listed.Add(id, false));
  // Equal pids on two machines, and two names whose invalid bytes were replaced.
  CHECK_FALSE(listed.Add({"gemm"}, true));
  CHECK(listed.Add({"gemm", 42}, true));
  CHECK(listed.Add({"bad\xEF\xBF\xBD"}, false));
  CHECK(listed.Add({"bad\xEF\xBF\xBD"}, false));
}

}  // namespace
}  // namespace stemtap::model
