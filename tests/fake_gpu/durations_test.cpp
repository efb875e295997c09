// SPDX-License-Identifier: Apache-2.0
//
// Tests the durations of kernels: requested by a parameter, or from the model for real code.
#include <doctest/doctest.h>
#include <signal.h>

#include <string>

#include "probed.h"
#include "support/temp_dir.h"

namespace stemtap::test {
namespace {

TEST_CASE("the model applies to real code, and a parameter to placeholders") {
  const TempDir dir;
  const std::string file = dir.Write("k.ptx", ".version 8.0\n.target sm_90\n").string();
  const auto seen = Values("images", {{"IMAGE_FILE", file}});
  for (const char* placeholder : {"empty", "text", "comment", "ptx_without_target"}) {
    CHECK(seen.at(placeholder) == "parameter");
  }
  for (const char* code : {"ptx", "fatbin", "wrapper", "elf", "file"}) {
    CHECK(seen.at(code) == "model");
  }
}

TEST_CASE("a setting chooses the source of durations") {
  const auto parameter = Values("images", {{"FAKE_GPU_DURATIONS", "parameter"}});
  CHECK(parameter.at("ptx") == "parameter");
  CHECK(parameter.at("fatbin") == "parameter");
  const auto model = Values("images", {{"FAKE_GPU_DURATIONS", "model"}});
  CHECK(model.at("empty") == "model");
  CHECK(Probe("images", {{"FAKE_GPU_DURATIONS", "other"}}).signal == SIGABRT);
}

TEST_CASE("modeled durations grow with the grid and depend only on the seed") {
  const auto seen = Values("model");
  CHECK(std::stoull(seen.at("shortest_ns")) >= 1500);
  CHECK(std::stoull(seen.at("longest_ns")) < 5'000'000);
  CHECK(seen.at("grows") == "1");
  CHECK(Values("model").at("total_ns") == seen.at("total_ns"));
  CHECK(Values("model", {{"FAKE_GPU_SEED", "2"}}).at("total_ns") != seen.at("total_ns"));
}

TEST_CASE("each launch of a graph draws new durations from the model") {
  CHECK(std::stoul(Values("model_in_graph").at("distinct")) > 50);
}

}  // namespace
}  // namespace stemtap::test
