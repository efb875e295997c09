// SPDX-License-Identifier: Apache-2.0
#include "model/brief_name.h"

#include <doctest/doctest.h>

#include <string>

using stemtap::model::BriefName;

TEST_CASE("a brief name omits namespaces, return types and parameters") {
  CHECK(
      BriefName("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> "
                ">(int, float)") == "vectorized_elementwise_kernel<4, FillFunctor<float> >");
  CHECK(BriefName("void (anonymous namespace)::softmax<float, 8>(float*)") == "softmax<float, 8>");
  CHECK(BriefName("void at::<unnamed>::cat<at::<unnamed>::Op<2>, 4>(int)") == "cat<Op<2>, 4>");
  CHECK(BriefName("std::enable_if<(a), void>::type foo<int>(int)") == "foo<int>");
  CHECK(BriefName("lib::Policy<int>::Inner") == "Policy<int>::Inner");
  CHECK(BriefName("::f") == "f");
}

TEST_CASE("a name that is not C++ is unchanged") {
  for (const char* name :
       {"ampere_sgemm_128x64_nn", "triton_poi_fused_add_0", "Memset (Device)", "[CUDA memcpy HtoD]",
        "two words", "", "(", "<<<>>>", "a::", "_Z", "_Z9", "_ZZZZ", "_Z99999x"}) {
    CAPTURE(name);
    CHECK(BriefName(name) == name);
  }
}

TEST_CASE("a mangled name becomes the function and its arguments") {
  CHECK(BriefName("_Z11racy_kernelPKfPf") == "racy_kernel");
  CHECK(BriefName("_ZN3lib4gemmEPKNS_4HalfE") == "gemm");
  CHECK(BriefName("_ZN12_GLOBAL__N_16kernelEPf") == "kernel");
  CHECK(BriefName("_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIN3c104HalfE"
                  "EESt5arrayIPcLm1EEEEviT0_T1_") ==
        "vectorized_elementwise_kernel<8 FillFunctor Half array char 1>");
  // Often only the arguments distinguish two kernels: types, and sometimes a minus sign.
  CHECK(BriefName("_ZN1n5indexIfljLi2ELin2EEEvNS_6ParamsE") == "index<float long uint 2 -2>");
  // Lambda numbers, enumerator values and argument lengths are not identifiers.
  CHECK(BriefName("_Z4launIZ4initvENKUlvE_clEv5ThingEvT_") == "laun<init Thing>");
  CHECK(BriefName("_Z4mainILN1n4ModeE2ELi32EA4_fEvv") == "main<Mode 32 float>");
}

TEST_CASE("no brief name is much longer than the name") {
  // Each level doubles the previous one; the demangled name would take gigabytes.
  std::string bomb = "_Z1f1pI1aS0_E";
  for (int level = 0; level < 30; ++level) bomb += "S_IS" + std::to_string(level % 10) + "_S_E";
  CHECK(BriefName(bomb) == "f");
  std::string cut =
      "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_11FillFunctorIN3c104HalfEE";
  for (; !cut.empty(); cut.pop_back()) CHECK(BriefName(cut).size() <= cut.size());
  CHECK(BriefName("_Z" + std::string(100000, 'N')).size() == 100002);
  CHECK(BriefName("_Z1fI" + std::string(100000, 'I')) == "f");
}
