// SPDX-License-Identifier: Apache-2.0
#include "model/graph_name.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/brief_name.h"
#include "model/kernel_category.h"
#include "model/kernel_name.h"

namespace stemtap::model {
namespace {

constexpr std::string_view kMangled =
    "graph of 213 kernels, 24 x _ZN2at6native29vectorized_elementwise_kernelILi8EfEEvi "
    "#1a2b3c4d5e6f7081";

TEST_CASE("the name of a graph has parts") {
  const auto parts = ParseGraphName(kMangled);
  REQUIRE(parts);
  CHECK(parts->kernels == "213");
  CHECK(parts->count == "24");
  CHECK(parts->kernel == "_ZN2at6native29vectorized_elementwise_kernelILi8EfEEvi");
  CHECK(parts->hash == "1a2b3c4d5e6f7081");
  const auto copies = ParseGraphName("graph of 0 kernels #1a2b3c4d5e6f7081");
  REQUIRE(copies);
  CHECK(copies->count == "");
  CHECK(ParseGraphName("graph of 1 kernel, 1 x a #b, 2 x c #1a2b3c4d5e6f7081")->kernel ==
        "a #b, 2 x c");
}

TEST_CASE("other names are not names of graphs") {
  for (const char* name :
       {"", "graph", "graph of", "graph of 2", "graph of 2 kernels", "graph of 2 kernels #1a2b",
        "graph of two kernels, 1 x k #1a2b3c4d5e6f7081",
        "graph of 2 kernels, 1 x k #1A2B3C4D5E6F7081", "graph of 2 kernels, x k #1a2b3c4d5e6f7081",
        "graph of 2 kernels 1 x k #1a2b3c4d5e6f7081", "graph x", "graph 7a", "my graph 7",
        "graph of 2 kernels, 1 x k 1a2b3c4d5e6f7081", "graph 7 of", "graph_kernel"}) {
    CAPTURE(name);
    CHECK_FALSE(ParseGraphName(name));
    CHECK_FALSE(IsGraphName(name));
  }
}

TEST_CASE("a brief name keeps the number of kernels, the function and a part of the hash") {
  CHECK(BriefName(kMangled) == "graph of 213: 24 x vectorized_elementwise_kernel #1a2b3c4d");
  CHECK(BriefName("graph of 1 kernel, 1 x gemm_128 #0000000000000007") ==
        "graph of 1: 1 x gemm_128 #00000000");
  CHECK(BriefName("graph of 0 kernels #1a2b3c4d5e6f7081") == "graph of 0 #1a2b3c4d");
  CHECK(BriefName("graph of 9 kernels, 2 x _ZN2at6native11FillFunctorI... #1a2b3c4d5e6f7081") ==
        "graph of 9: 2 x FillFunctor #1a2b3c4d");
  CHECK(BriefName("graph of 9 kernels, 2 x _Z4gemmILi1E... #1a2b3c4d5e6f7081") ==
        "graph of 9: 2 x gemm #1a2b3c4d");
  CHECK(BriefName("graph of 9 kernels, 2 x _Z999gemm... #1a2b3c4d5e6f7081") ==
        "graph of 9: 2 x _Z999gemm #1a2b3c4d");
  CHECK(BriefName("graph of 9 kernels, 2 x _ZN... #1a2b3c4d5e6f7081") ==
        "graph of 9: 2 x _ZN #1a2b3c4d");
  CHECK(BriefName("graph of 9 kernels, 2 x void n::f<1>(int) #1a2b3c4d5e6f7081") ==
        "graph of 9: 2 x f #1a2b3c4d");
}

TEST_CASE("a name by number is not shortened") {
  for (const char* name : {"graph 12 of process 4711 #5e6f7081", "graph 12"}) {
    CHECK(IsGraphName(name));
    CHECK(BriefName(name) == name);
    CHECK(FunctionName(name) == name);
  }
}

TEST_CASE("graphs of the same kernels stay distinct in tables") {
  const std::vector<std::string_view> names = {
      kMangled,
      "graph of 213 kernels, 24 x _ZN2at6native29vectorized_elementwise_kernelILi8EfEEvi "
      "#1a2b3c4e5e6f7081",
      "graph of 213 kernels, 24 x _ZN2at6native29vectorized_elementwise_kernelILi8EfEEvi "
      "#1a2b3c4d5e6f7082",
      "graph 12 of process 4711 #5e6f7081", "graph 12 of process 4712 #5e6f7081"};
  const std::vector<std::string> briefs = BriefNames(names);
  // These two share the beginning of their hashes.
  CHECK(briefs[0] == names[0]);
  CHECK(briefs[1] == "graph of 213: 24 x vectorized_elementwise_kernel #1a2b3c4e");
  CHECK(briefs[2] == names[2]);
  const std::vector<std::string> cut = NamesForTerminal(briefs, 24);
  for (std::size_t i = 0; i < cut.size(); ++i) {
    CAPTURE(cut[i]);
    CHECK(cut[i].size() <= 24);
    for (std::size_t j = 0; j < i; ++j) CHECK(cut[i] != cut[j]);
  }
}

TEST_CASE("graphs are grouped by their whole names, and belong to no category of kernels") {
  const std::string name = "graph of 9 kernels, 2 x void n::gemm<1>(int) #1a2b3c4d5e6f7081";
  CHECK(FunctionName(name) == name);
  CHECK(FunctionName(kMangled) == kMangled);
  CHECK(CategoryOf(name) == KernelCategory::kOther);
}

}  // namespace
}  // namespace stemtap::model
