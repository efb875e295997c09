// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <doctest/doctest.h>

namespace stemtap::model {
namespace {

TEST_CASE("names of a kernel in different tools have one base") {
  CHECK(BaseName("void lib::gemm<float, (int)4>(float const*, int)") == "gemm");
  CHECK(BaseName("_ZN3lib4gemmEPfi") == "gemm");
  CHECK(BaseName("gemm") == "gemm");
  CHECK(BaseName("(anonymous namespace)::scan(int)") == "scan");
  CHECK(BaseName("lib::(anonymous namespace)::scan<2>(int)") == "scan");
  CHECK(Spelling("void lib::gemm<float, (int)4, (bool)-1>(float const*, int)") ==
        "lib::gemm<float,4,-1>");
  CHECK(Spelling("_ZN3lib4gemmIfLi4EEEvPf") == "lib::gemm<float,4>");
  CHECK(Spelling("_ZN3lib4gemmEPfi") == "lib::gemm");
  CHECK(Spelling("(anonymous namespace)::scan<2>(int)") == "(anonymousnamespace)::scan<2>");
  CHECK(Spelling("f<void (*)(int)>(int)") == "f<void(*)(int)>");
  CHECK(Spelling("") == "");
  CHECK(MaySameKernel("_Z3addPii", "add(int*, int)"));
  CHECK_FALSE(MaySameKernel("_Z3addPii", "sub(int*, int)"));
}

}  // namespace
}  // namespace stemtap::model
