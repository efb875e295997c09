// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <cxxabi.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "model/name_text.h"
#include "support/paths.h"

namespace stemtap::model {
namespace {

TEST_CASE("a kernel has the same base name in different tools") {
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
  // This name is truncated within the arguments.
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

// Returns a mangled name of about 14 bytes per level. Each level triples its C++ form:
// f(B, A<B, B, B>, A<A<B, B, B>, A<B, B, B>, A<B, B, B> >, ...).
std::string Tripled(int levels) {
  const auto part = [](int number) {  // the part with this number: S_, S0_, ..., S9_, SA_, ...
    if (number == 0) return std::string("S_");
    return std::string("S") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number - 1] + "_";
  };
  std::string name = "_Z1f1B1AIS_S_S_E";
  for (int level = 1; level < levels; ++level) {
    const std::string last = part(level + 1);
    name += part(1) + "I" + last + last + last + "E";
  }
  return name;
}

std::string DemangledWithoutLimit(const std::string& name) {
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text == nullptr ? name : std::string(text.get());
}

std::string WithoutSpaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

TEST_CASE("real kernels are demangled as by the C++ library") {
  std::ifstream file(test::SourceDir() / "tests/data/kernel_names.tsv");
  int names = 0;
  for (std::string line; std::getline(file, line); ++names) {
    const std::string name = line.substr(0, line.find('\t'));
    // The C++ library omits a space after an empty pack.
    CHECK(WithoutSpaces(Demangled(name)) == WithoutSpaces(DemangledWithoutLimit(name)));
  }
  CHECK(names > 150);
  // These need the arguments of several functions, packs, and references to references.
  for (const char* name :
       {"_Z1fIJiRjPKfEEvDpOT_", "_Z1fIJEEvDpT_", "_Z1fIiEvOT_RKS0_", "_Z1fIRiEvOT_RS1_",
        "_ZZN1a1fIiEEvT_S1_ENKUlS1_T0_E_clIfEEDaS1_S2_", "_ZNK1a1CIiE1fIfEET_iz",
        "_Z1gIXadL_Z1fIiEvT_EEEPFvT_Ev", "_Z1gIXadL_Z1fiEEEvv", "_Z1gIXplLi1ELi2EEXstiEEvv",
        "_Z1fIZN1n1gIiEEvT_EUlvE_EvS2_", "_ZN1aD1Ev", "_ZN1aIiEC1IfEET_", "_ZN1acviEv",
        "_ZZ1fIA3_iEvRT_E1x", "_Z1fPFPA3_iPFvvEEMN1aEKFviES5_"}) {
    CAPTURE(name);
    CHECK(Demangled(name) == DemangledWithoutLimit(name));
  }
}

TEST_CASE("a mangled name that the C++ library rejects for its length is demangled") {
  std::string mangled = "_Z1fI";
  std::string text = "f<";
  for (int i = 100; i < 400; ++i) {
    mangled += "4T" + std::to_string(i);
    text += "T" + std::to_string(i) + ", ";
  }
  text.resize(text.size() - 2);
  REQUIRE(mangled.size() > 1024);
  CHECK(Demangled(mangled + "EvPf") == "void " + text + ">(float*)");
  CHECK(FunctionName(mangled + "EvPf") == "f");
}

TEST_CASE("names are demangled up to the maximum length") {
  CHECK(Demangled(Tripled(2)) == "f(B, A<B, B, B>, A<A<B, B, B>, A<B, B, B>, A<B, B, B> >)");
  std::size_t longest = 0;
  for (int levels = 1; levels < 12; ++levels) {
    CAPTURE(levels);
    const std::string name = Tripled(levels);
    const std::string text = DemangledWithoutLimit(name);
    REQUIRE(text != name);
    const bool fits = text.size() <= kMaxNameText;
    CHECK(Demangled(name) == (fits ? text : name));
    if (fits) longest = text.size();
  }
  CHECK(longest > kMaxNameText / 4);
  CHECK(longest < kMaxNameText);
  CHECK(Demangled("_Z") == "_Z");
  CHECK(Demangled("_Z3addPii(") == "_Z3addPii(");
}

// The C++ form would have 70 GB.
TEST_CASE("a name that expands exponentially stays mangled") {
  const std::string name = Tripled(21);
  REQUIRE(name.size() < 300);
  CHECK(Demangled(name) == name);
  CHECK(BaseName(name) == name);
  CHECK(FunctionName(name) == name);
  CHECK(Spelling(name) == name);
  CHECK(MaySameKernel(name, name));
  CHECK_FALSE(MaySameKernel(name, "f(B)"));
}

}  // namespace
}  // namespace stemtap::model
