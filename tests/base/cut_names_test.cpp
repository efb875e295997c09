// SPDX-License-Identifier: Apache-2.0
#include "base/cut_names.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

using stemtap::BriefNames;
using stemtap::CutNames;

namespace {

using Names = std::vector<std::string>;

std::string Joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

// The names of elementwise kernels of PyTorch, as BriefName returns them.
const Names kElementwise = {
    "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<BinaryFunctor<BFloat16, BFloat16, BFloat16, "
    "MulFunctor<float> > >(TensorIteratorBase&)::{lambda(int)#1}>",
    "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel_cuda(TensorIteratorBase&)"
    "::{lambda()#3}::operator()() const::{lambda()#12}>(TensorIteratorBase&)::{lambda(int)#1}>",
    "elementwise_kernel<128, 4, gpu_kernel_impl_nocast<CUDAFunctor_add<BFloat16> >"
    "(TensorIteratorBase&)::{lambda(int)#1}>",
    "elementwise_kernel<128, 2, gpu_kernel_impl_nocast<BinaryFunctor<float, float, float, "
    "MulFunctor<float> > >(TensorIteratorBase&)::{lambda(int)#1}>",
};

}  // namespace

TEST_CASE("cut names keep the part that distinguishes them") {
  CHECK(Joined(CutNames(kElementwise, 44)) ==
        "elementwise_kernel..BFloat16..MulFunctor..\n"
        "elementwise_kerne..direct_copy_kernel_cuda..\n"
        "elementwise_kernel..CUDAFunctor_add..int..\n"
        "elementwise_kernel..2..float..MulFunctor..\n");
}

TEST_CASE("a narrow column cuts the first part, not the part that differs") {
  CHECK(Joined(CutNames(kElementwise, 20, "\u2026")) ==
        "elementw\u2026MulFunctor\u2026\nelementwise\u2026"
        "direct\u2026\n"
        "element\u2026"
        "CUDAFunctor\u2026\nelemen\u2026"
        "2\u2026MulFunctor\u2026\n");
}

TEST_CASE("no word is shown twice, and long identifiers are cut between words") {
  const Names names = {"volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1",
                       "volta_scudnn_128x64_stridedB_xregs_large_nn_v1",
                       "volta_scudnn_128x64_relu_xregs_large_nn_v1"};
  CHECK(Joined(CutNames(names, 32)) ==
        "volta_scudnn..stridedB_splitK..\nvolta_scudnn_128x64_stridedB..v1\n"
        "volta_scudnn_128x64_relu_xregs..\n");
}

TEST_CASE("words distinguish names rather than numbers and internals of libraries") {
  const Names names = {"reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, float>>>",
                       "reduce_kernel<256, 2, ReduceOp<float, SumOps<float, float>>>"};
  CHECK(Joined(CutNames(names, 36)) ==
        "reduce_kernel..ReduceOp..MeanOps..\nreduce_kernel..2, ReduceOp..SumOps..\n");
}

TEST_CASE("names that fit and equal names are unchanged") {
  CHECK(CutNames(Names{}, 16).empty());
  CHECK(CutNames(Names{"gemm", "gemm", ""}, 16) == Names{"gemm", "gemm", ""});
  const std::string sixteen(16, 'x');
  CHECK(CutNames(Names{sixteen}, 16) == Names{sixteen});
}

TEST_CASE("names without a part that differs within the width are numbered") {
  const std::string words(100, 'x');
  CHECK(CutNames(Names{words + "a", words + "b"}, 16) ==
        Names{"xxxxxxxxxx.. (1)", "xxxxxxxxxx.. (2)"});
  CHECK(CutNames(Names{std::string(40, '<'), std::string(41, '<')}, 16).front() ==
        std::string(10, '<') + ".. (1)");
}

TEST_CASE("cut names are different and fit, whatever the width") {
  Names names = kElementwise;
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

TEST_CASE("a long name does not take long") {
  std::string name;
  while (name.size() < 1'000'000) name += "word" + std::to_string(name.size()) + "<";
  CHECK(CutNames(Names{name, name + "a", std::string(1'000'000, 'x')}, 44).size() == 3);
}

TEST_CASE("kernels with one brief name keep their names") {
  const std::vector<std::string_view> names = {"void a::f(int)", "void a::f(float)",
                                               "void a::g(int)", "void a::g(int)"};
  CHECK(BriefNames(names) == Names{"void a::f(int)", "void a::f(float)", "g", "g"});
}
