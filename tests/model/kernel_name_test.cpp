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

TEST_CASE("the function of a kernel has namespaces, but no return type, arguments or parameters") {
  CHECK(FunctionName("void at::native::vectorized_elementwise_kernel<4, at::Fill<float>, "
                     "at::Array<char*, 1> >(int, at::Fill<float>, at::Array<char*, 1>)") ==
        "at::native::vectorized_elementwise_kernel");
  CHECK(FunctionName("_ZN3lib4gemmIfLi4EEEvPf") == "lib::gemm");
  CHECK(FunctionName("_ZN3lib4gemmEPfi") == "lib::gemm");
  CHECK(FunctionName("lib::gemm<float>") == "lib::gemm");
  // Truncated within the arguments.
  CHECK(FunctionName("void lib::gemm<float, lib::Op<") == "lib::gemm");
  // A parenthesis in an argument does not end the name.
  CHECK(FunctionName("void lib::gemm<(int)4, f(int)::{lambda(int)#1}>(int)") == "lib::gemm");
  CHECK(FunctionName("gemm") == "gemm");
  CHECK(FunctionName("graph 7") == "graph 7");
  CHECK(FunctionName("") == "");
  CHECK(FunctionName("(anonymous namespace)::scan(int)") == "(anonymous namespace)::scan");
  CHECK(FunctionName("void lib::(anonymous namespace)::scan<2>(int)") ==
        "lib::(anonymous namespace)::scan");
  CHECK(FunctionName("void <unnamed>::scan<(int)2>(int)") == "<unnamed>::scan");
  CHECK(FunctionName("{lambda(int, int)#1}::operator()<int>(int) const") ==
        "{lambda(int, int)#1}::operator()");
  for (const char* name : {"(anonymous namespace)::scan", "<unnamed>::scan",
                           "{lambda(int, int)#1}::operator()", "lib::gemm", "<>", "(", "{"}) {
    CAPTURE(name);
    CHECK(FunctionName(FunctionName(name)) == FunctionName(name));
  }
}

}  // namespace
}  // namespace stemtap::model
