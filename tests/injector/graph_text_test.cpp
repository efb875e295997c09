// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_text.h"

#include <doctest/doctest.h>

#include <string>

#include "graphs/graph_problem.h"
#include "recording/name_reader.h"

namespace stemtap::inject {
namespace {

std::string NameOf(const GraphSummary& graph) {
  char name[kGraphNameBytes];
  const std::uint32_t length = WriteGraphName(graph, name);
  return {name, length};
}

std::string Cut(const std::string& name, std::size_t max_bytes) {
  return name.substr(0, CutKernelName(name.data(), name.size(), max_bytes));
}

TEST_CASE("the name of a graph has its kernels, the most frequent one, and the hash") {
  CHECK(NameOf({0x1a2b3c4d5e6f7081, 213, 24, "_Z4gemmPf"}) ==
        "graph of 213 kernels, 24 x _Z4gemmPf #1a2b3c4d5e6f7081");
  CHECK(NameOf({7, 1, 1, "k"}) == "graph of 1 kernel, 1 x k #0000000000000007");
  CHECK(NameOf({7, 0, 0, nullptr}) == "graph of 0 kernels #0000000000000007");
}

TEST_CASE("the name of a graph has a bounded length and is plausible") {
  const std::string kernel(shm::kMaxNameBytes + 5, 'k');
  const std::string name = NameOf({~std::uint64_t{0}, 4294967295u, 4294967295u, kernel.c_str()});
  CHECK(name == "graph of 4294967295 kernels, 4294967295 x " +
                    std::string(kMaxKernelInGraphName, 'k') + "... #ffffffffffffffff");
  CHECK(name.size() < kGraphNameBytes);
  const std::string odd = NameOf({1, 1, 1, "a\nb\x7f\x01"});
  CHECK(odd == "graph of 1 kernel, 1 x a_b__ #0000000000000001");
  CHECK(NameReader::IsPlausible(odd.data(), static_cast<std::uint32_t>(odd.size())));
}

TEST_CASE("a kernel name is cut between characters and between identifiers") {
  CHECK(Cut("plain", 10) == "plain");
  CHECK(Cut("plain_name", 7) == "plain_n");
  CHECK(Cut("d\u00e9cal\u00e9", 2) == "d");
  CHECK(Cut("d\u00e9cal\u00e9", 3) == "d\u00e9");
  const std::string mangled = "_ZN2at6native11FillFunctorILi128EfEEvif";
  CHECK(Cut(mangled, mangled.size()) == mangled);
  CHECK(Cut(mangled, 20) == "_ZN2at6native");
  CHECK(Cut(mangled, 27) == "_ZN2at6native11FillFunctorI");
  // The digits of a literal are not the length of an identifier.
  CHECK(Cut(mangled, 34) == "_ZN2at6native11FillFunctorILi128Ef");
  CHECK(Cut("_Z9999999999999999999999k" + std::string(100, 'k'), 20) == "_Z");
}

TEST_CASE("a graph without a name by structure is named by its number and process") {
  char name[kGraphNameBytes];
  CHECK(std::string(name, WriteGraphNumber(12, 4711, 0x5e6f7081, name)) ==
        "graph 12 of process 4711 #5e6f7081");
}

TEST_CASE("each problem is reported in words") {
  char text[160];
  for (int kind = 0; kind <= GraphProblem::kTooManyNames; ++kind) {
    CAPTURE(kind);
    CHECK(std::string(WhyUnnamed({static_cast<GraphProblem::Kind>(kind)}, text)).size() > 10);
  }
  CHECK(std::string(WhyUnnamed(CallFailed(GraphCall::kGetNodes, 400), text)) ==
        "cuGraphGetNodes failed, error 400");
  CHECK(std::string(WhyUnnamed({GraphProblem::kDriverLacks, 3, 0}, text)) ==
        "the driver lacks cuFuncGetName; expected CUDA 12.3 or later");
}

}  // namespace
}  // namespace stemtap::inject
