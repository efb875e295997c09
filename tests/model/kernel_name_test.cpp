// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <cxxabi.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

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

TEST_CASE("names are demangled up to the maximum length") {
  CHECK(Demangled(Tripled(2)) == "f(B, A<B, B, B>, A<A<B, B, B>, A<B, B, B>, A<B, B, B> >)");
  std::size_t longest = 0;
  for (int levels = 1; levels < 12; ++levels) {
    CAPTURE(levels);
    const std::string name = Tripled(levels);
    const std::string text = DemangledWithoutLimit(name);
    REQUIRE(text != name);
    const bool fits = text.size() <= kMaxDemangledBytes;
    CHECK(Demangled(name) == (fits ? text : name));
    if (fits) longest = text.size();
  }
  CHECK(longest > kMaxDemangledBytes / 4);
  CHECK(longest < kMaxDemangledBytes);
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
