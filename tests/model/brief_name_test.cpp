// SPDX-License-Identifier: Apache-2.0
#include "model/brief_name.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include "model/kernel_category.h"
#include "support/paths.h"

using stemtap::model::BriefName;
using stemtap::model::kMaxNameText;

TEST_CASE("a brief name omits namespaces, return types and parameters") {
  CHECK(
      BriefName("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> "
                ">(int, float)") == "vectorized_elementwise_kernel<4, FillFunctor<float> >");
  CHECK(BriefName("void (anonymous namespace)::softmax<float, 8>(float*)") == "softmax<float, 8>");
  CHECK(BriefName("void at::<unnamed>::cat<at::<unnamed>::Op<2>, 4>(int)") == "cat<Op<2>, 4>");
  CHECK(BriefName("std::enable_if<(a), void>::type foo<int>(int)") == "foo<int>");
  CHECK(BriefName("lib::Policy<int>::Inner") == "Policy<int>::Inner");
  CHECK(BriefName("::f") == "f");
  CHECK(BriefName("f(") == "f");
  // Functions in template arguments have no parameters either.
  CHECK(BriefName("void f<a::log_cuda(a::Iterator&)::{lambda()#2}::operator()() const::{lambda(int)"
                  "#1}, void (a::C::*)(a::T)>(int)") ==
        "f<log_cuda::{lambda()#2}::{lambda(int)#1}, void (C::*)(T)>");
}

TEST_CASE("a name that is not C++ is unchanged") {
  for (const char* name :
       {"ampere_sgemm_128x64_nn", "triton_poi_fused_add_0", "Memset (Device)", "[CUDA memcpy HtoD]",
        "two words", "", "(", "<<<>>>", "a::", "_Z", "_Z9", "_ZZZZ", "_Z99999x"}) {
    CAPTURE(name);
    CHECK(BriefName(name) == name);
  }
}

// The brief names in the file have only identifiers and numbers of what c++filt prints, which
// real_names_test verifies for all kernels of the two libraries that the names are from.
TEST_CASE("kernels of PyTorch and llama.cpp have the expected brief name and category") {
  std::ifstream file(stemtap::test::SourceDir() / "tests/data/kernel_names.tsv");
  std::string name;
  std::string brief;
  std::string category;
  int names = 0;
  while (std::getline(file, name, '\t') && std::getline(file, brief, '\t') &&
         std::getline(file, category)) {
    CAPTURE(name);
    CHECK(BriefName(name) == brief);
    CHECK(stemtap::model::NameOf(stemtap::model::CategoryOf(name)) == category);
    ++names;
  }
  CHECK(names > 150);
}

// Kernels rarely have these parts. c++filt writes them in the same way, with namespaces.
TEST_CASE("a mangled name may contain all kinds of types and expressions") {
  const std::pair<const char*, const char*> known[] = {
      {"_Z11racy_kernelPKfPf", "racy_kernel"},
      {"_ZN3lib4gemmEPKNS_4HalfE", "gemm"},
      {"_ZN12_GLOBAL__N_16kernelEPf", "kernel"},
      {"_ZL6kernelv", "kernel"},
      {"_Z1fILi1ELin2ELj3ELl4ELm5ELx6ELy7ELb0ELb1ELc8EEvv",
       "f<1, -2, 3u, 4l, 5ul, 6ll, 7ull, false, true, (char)8>"},
      {"_Z4mainILN1n4ModeE2ELi32EA4_fEvv", "main<(Mode)2, 32, float [4]>"},
      {"_Z1fIwxyajthmcfdegnoDhDiDnDaDF16_DF16bEvv",
       "f<wchar_t, long long, unsigned long long, signed char, unsigned int, unsigned short, "
       "unsigned char, unsigned long, char, float, double, long double, __float128, __int128, "
       "unsigned __int128, half, char32_t, decltype(nullptr), auto, _Float16, std::bfloat16_t>"},
      {"_Z1fIPFviEPFivERA3_iOfMN1n1AEFvvEMS8_iVKPvEvv",
       "f<void (*)(int), int (*)(), int (&) [3], float&&, void (A::*)(), int A::*, "
       "void* const volatile>"},
      {"_Z1fIJEJifEEvv", "f<int, float>"},
      {"_Z1fIJEEvDpT_", "f<>"},
      {"_Z1fISaIcESsSt6vectorIiSaIiEEEvv",
       "f<allocator<char>, string, vector<int, allocator<int>>>"},
      {"_Z1fIXadL_ZN1n1gEvEEXadL_ZN1n1hIiEEvT_EEEvv", "f<&g, &h<int>>"},
      {"_Z1fIXsrN1n1AIiEE1vEXeqLi1ELi2EEXntLb1EEXszLi1EEXstiEEvv",
       "f<A<int>::v, 1==2, !true, sizeof (1), sizeof (int)>"},
      {"_ZN1n1AIiE1fIfEEvv", "A<int>::f<float>"},
      {"_ZN1n1AIiE1B1fEv", "A<int>::f"},
      {"_Z1fIDv4_fU3vecIiEiEvv", "f<float __vector(4), int vec<int>>"},
      {"_Z1fB3tagIiEvv", "f[abi:tag]<int>"},
      // Parts of functions: lambdas, also with automatic types, and types without a name.
      {"_Z4launIZZ4initvENKUlvE_clEvE5ThingEvT_", "laun<init::{lambda()#1}::Thing>"},
      {"_Z1fIZN1n1gEiE1SEvv", "f<g::S>"},
      {"_Z1fIZN1n1gEiE1S_0EvT_", "f<g::S>"},
      {"_Z1fIZN1n1gIiEEvT_EUlS2_T0_E0_EvT_", "f<g<int>::{lambda(auto:1, auto:2)#2}>"},
      {"_Z1fIZN1n1gEvEUt_EvT_", "f<g::{unnamed type#1}>"},
      {"_Z1fIZN1n1AC4EvEUlvE_EvT_", "f<A::{lambda()#1}>"},
      {"_Z1fIN1n1A1xMUlvE_EEvT_", "f<{lambda()#1}>"},
      // nvcc adds the source file to the names of static kernels.
      {"__nv_static_12__a1b2c3_1_k__ZN3lib6kernelILi4EEEvPf", "kernel<4>"},
  };
  for (const auto& [name, brief] : known) {
    CAPTURE(name);
    CHECK(BriefName(name) == brief);
  }
}

TEST_CASE("namespaces and parameters are optional parts of a brief name") {
  const char* mangled = "_ZN1a12_GLOBAL__N_11fINS_1TEEEvPT_RKS1_v";
  const char* written = "void a::(anonymous namespace)::f<a::T>(a::T*, a::T const&)";
  CHECK(BriefName("_ZN1a1fIiNS_1TEEEvPT_RKT0_", {.parameters = true}) ==
        "f<int, T>(int*, T const&)");
  CHECK(BriefName("_ZN1a1fIiNS_1TEEEvPT_RKT0_", {.scopes = true}) == "a::f<int, a::T>");
  CHECK(BriefName(mangled, {.scopes = true}) == "a::(anonymous namespace)::f<a::T>");
  CHECK(BriefName(written, {.scopes = true}) == "a::(anonymous namespace)::f<a::T>");
  CHECK(BriefName(written, {.parameters = true}) == "f<T>(T*, T const&)");
  CHECK(BriefName("_Z1fv", {.parameters = true}) == "f()");
  CHECK(BriefName("_Z1fIiEvv", {.parameters = true}) == "f<int>()");
}

TEST_CASE("a name that would be too long is unchanged") {
  // Each level doubles the previous one; the demangled name would take gigabytes.
  std::string levels = "1pI1aS0_E";
  for (int level = 0; level < 30; ++level) levels += "S_IS" + std::to_string(level % 10) + "_S_E";
  CHECK(BriefName("_Z1f" + levels) == "f");  // parameters are not read
  std::string bomb = "_Z1fI1a1bIS0_S0_E";
  for (int level = 1; level < 35; ++level) {
    const std::string last(1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[level]);
    bomb += "S0_IS" + last + "_S" + last + "_E";
  }
  bomb += "Evv";
  CHECK(BriefName(bomb) == bomb);
  // The same with packs, which have no text.
  std::string empty = "_Z1fI1aIJEE";
  for (int level = 0; level < 35; ++level) {
    const std::string last(1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[level]);
    empty += "FvS" + last + "_S" + last + "_E";
  }
  empty += "Evv";
  CHECK(BriefName(empty) == empty);
}

TEST_CASE("a damaged or hostile name is unchanged or short") {
  const std::string name =
      "_ZN2at6native29vectorized_elementwise_kernelILi8EXadL_ZNS_1gEvEEZZNS_1hEvENKUlvE_clEvEUliE_"
      "St5arrayIPcLm1EEJifEPFvRA4_KiEEEviT0_T1_";
  REQUIRE(BriefName(name).starts_with("vectorized_elementwise_kernel<8, &g, h::{lambda()#1}::"));
  for (std::size_t size = 0; size < name.size(); ++size) {
    CHECK(BriefName(name.substr(0, size)).size() <= kMaxNameText);
  }
  for (std::size_t at = 2; at < name.size(); ++at) {
    for (const char c : std::string("_0SITZXNEJLFAMPKDU\xFF")) {
      std::string damaged = name;
      damaged[at] = c;
      CHECK(BriefName(damaged, {.scopes = true, .parameters = true}).size() <= kMaxNameText);
    }
  }
  for (const char* part :
       {"N", "Z",  "I", "X",    "J",     "P",   "1aI", "F",  "A",  "XplLi1E", "Ul",
        "K", "NK", "M", "DpT_", "ZN1aE", "U1a", "Dt",  "1a", "S_", "cv"}) {
    CAPTURE(part);
    for (const char* start : {"_Z", "_ZN", "_Z1fI", "_Z1fIXcl"}) {
      std::string deep = start;
      while (deep.size() < 60'000) deep += part;
      CHECK(BriefName(deep).size() <= std::max(kMaxNameText, deep.size()));
      CHECK(BriefName(deep, {.parameters = true}).size() <= std::max(kMaxNameText, deep.size()));
    }
  }
  const std::string brackets = std::string(50'000, '(') + std::string(50'000, '<');
  CHECK(BriefName("f<" + brackets).size() <= brackets.size() + 2);
  // A template argument that refers to itself.
  CHECK(BriefName("_Z1fIDTcvT_Li1EEEvT_", {.parameters = true}) == "_Z1fIDTcvT_Li1EEEvT_");
}
