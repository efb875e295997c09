// SPDX-License-Identifier: Apache-2.0
#include "startup/locator.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace stemtap::inject {
namespace {

TEST_CASE("the CUDA version of a runtime library is read from its name") {
  CHECK(RuntimeMajorOf("/usr/local/cuda/lib64/libcudart.so.12") == 12);
  CHECK(RuntimeMajorOf("/x/libcudart.so.13.0.88") == 13);
  CHECK(RuntimeMajorOf("/x/torch/lib/libcudart-9335f6a2.so.11.0") == 11);
  CHECK(RuntimeMajorOf("libcudart.so.12") == 12);
}

TEST_CASE("names without a version and names of other libraries have no CUDA version") {
  for (const char* path : {"", "/", "/x/libcudart.so", "/x/libcudart.so.", "/x/libcudart.so.x",
                           "/x/libcuda.so.1", "/libcudart.so.12/other.so.7"}) {
    CAPTURE(path);
    CHECK(RuntimeMajorOf(path) == 0);
  }
}

}  // namespace
}  // namespace stemtap::inject
