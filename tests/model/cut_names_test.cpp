// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/brief_name.h"
#include "support/paths.h"

using stemtap::model::BriefNames;
using stemtap::model::CutNames;

namespace {

using Names = std::vector<std::string>;

}  // namespace

// report/test/labels.test.ts reads the same file, because the page cuts names in the same way.
TEST_CASE("names are cut as in the examples of cut_names.json") {
  std::ifstream file(stemtap::test::SourceDir() / "tests/data/cut_names.json");
  const nlohmann::json examples = nlohmann::json::parse(file);
  REQUIRE(examples.size() > 8);
  for (const nlohmann::json& example : examples) {
    CAPTURE(example["what"].get<std::string>());
    CHECK(CutNames(example["names"].get<Names>(), example["width"].get<std::size_t>(), "\u2026") ==
          example["cut"].get<Names>());
  }
  CHECK(CutNames(Names{}, 16).empty());
  CHECK(CutNames(Names{"gemm<float, Add>(int)", "gemm<float, Mul>(int)"}, 16) ==
        Names{"gemm..Add>(int)", "gemm..Mul>(int)"});
}

TEST_CASE("cut names are distinct and fit for any width") {
  Names names;
  for (int i = 0; i < 300; ++i) {
    std::string name = "kernel_\u00E9_" + std::string(static_cast<std::size_t>(i % 7), 'f') + "<";
    for (int part = 0; part < 12; ++part) name += " Word" + std::to_string(i >> part & 3) + ",";
    names.push_back(name + std::to_string(i) + ">");
  }
  for (const std::size_t width : {16U, 18U, 30U, 44U, 80U}) {
    const Names cut = CutNames(names, width, "\u2026");
    CHECK(std::set<std::string>(cut.begin(), cut.end()).size() == names.size());
    for (const std::string& name : cut) {
      std::size_t columns = 0;
      for (const char c : name) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
      CHECK(columns <= width);
    }
  }
}

TEST_CASE("long names are cut quickly") {
  std::string name;
  while (name.size() < 1'000'000) name += "word" + std::to_string(name.size()) + "<";
  CHECK(CutNames(Names{name, name + "a", std::string(1'000'000, 'x')}, 44).size() == 3);
}

TEST_CASE("kernels with the same brief name are shown with what distinguishes them") {
  const auto briefs_of = [](std::vector<std::string_view> names) { return BriefNames(names); };
  CHECK(briefs_of({"void a::f(int)", "void b::f(int)", "void a::g(int)", "void a::g(int)"}) ==
        Names{"a::f", "b::f", "g", "g"});
  CHECK(briefs_of({"void a::f(a::T)", "void a::f(float)", "void a::g(int)"}) ==
        Names{"f(T)", "f(float)", "g"});
  CHECK(briefs_of({"_ZN1a1fEi", "_ZN1a1fEf", "_ZN1b1fEf"}) ==
        Names{"a::f(int)", "a::f(float)", "b::f(float)"});
  // Names of anonymous namespaces differ only in what c++filt leaves out.
  CHECK(briefs_of({"_ZN12_GLOBAL__N_11fEv", "_ZN19_GLOBAL__N__a_1_b_c1fEv"}) ==
        Names{"_ZN12_GLOBAL__N_11fEv", "_ZN19_GLOBAL__N__a_1_b_c1fEv"});
  CHECK(briefs_of({"f", "void f(int)", "void f(float)"}) == Names{"f", "f(int)", "f(float)"});
}

TEST_CASE("brief names of different names are different") {
  std::vector<std::string> names;
  const char* parts[] = {"f", "(", ")", "a::", "void ", "int", "<", ">", "::", "_ZN1a1fEi"};
  for (int i = 0; i < 10'000; ++i) {
    std::string name;
    for (int n = i; n > 0 || name.empty(); n /= 10) name += parts[n % 10];
    names.push_back(name);
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const Names briefs = BriefNames(views);
  CHECK(std::set<std::string>(briefs.begin(), briefs.end()).size() ==
        std::set<std::string>(names.begin(), names.end()).size());
}
