// SPDX-License-Identifier: Apache-2.0
#include "fleet/job_watch.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "fleet/fake_server.h"
#include "fleet/packing.h"
#include "fleet/seal.h"
#include "stats/log_sketch.h"

namespace stemtap::fleet {
namespace {

const std::string kWatchedRun = "run-0";
const model::KernelId kWatchedKernel = {"gemm"};

std::string TextReply(const std::string& text) {
  return fmt::format("${}\r\n{}\r\n", text.size(), text);
}

std::string ListReply(const std::vector<std::string>& parts) {
  std::string list = fmt::format("*{}\r\n", parts.size());
  for (const std::string& part : parts) list += part;
  return list;
}

std::string PackedSketch(int launches) {
  stats::LogSketch sketch;
  for (int i = 0; i < launches; ++i) sketch.Add(1000);
  return PackSketch(sketch);
}

std::string PackedCapture(std::uint64_t duration_ns) {
  online::Capture capture;
  capture.sample.index = 5;
  capture.sample.record.duration_ns = duration_ns;
  capture.bin = stats::LogSketch::BinOf(duration_ns);
  return PackCapture(capture);
}

// Returns the answers to a refresh that reads a job of one run with `launches` launches of a kernel
// from the start, except the kernels and the silent runs. Launch 5 was captured.
std::vector<std::string> WholeJob(int launches, std::uint64_t captured_ns) {
  const std::string key = fmt::format("{:016x}", KeyOf(kWatchedKernel));
  const auto sealed = [](const std::string& at, const std::string& field,
                         const std::string& value) { return TextReply(Sealed(at, field, value)); };
  const std::string run = Packer()
                              .Number(0)
                              .Text("node")
                              .Number(static_cast<std::uint64_t>(launches))
                              .Number(1000 * static_cast<std::uint64_t>(launches))
                              .Number(0)
                              .Take();
  return {TextReply("0"), ListReply({}), ListReply({TextReply(kWatchedRun)}),
          // The run, no directions, sketches, captures, traits.
          sealed("runs", kWatchedRun, run) + "$-1\r\n" +
              ListReply({TextReply(key),
                         sealed("sketches:" + kWatchedRun, key, PackedSketch(launches))}) +
              ListReply({TextReply(key + ":5"), sealed("captures:" + kWatchedRun, key + ":5",
                                                       PackedCapture(captured_ns))}) +
              ListReply({})};
}

std::string KernelsReply() {
  const std::string key = fmt::format("{:016x}", KeyOf(kWatchedKernel));
  return ListReply({TextReply(key), TextReply(Sealed("kernels", key, PackId(kWatchedKernel)))});
}

TEST_CASE("after a failed refresh, the job is read again from the start") {
  std::vector<std::string> answers = {"+PONG\r\n"};
  const auto add = [&](const std::vector<std::string>& more) {
    answers.insert(answers.end(), more.begin(), more.end());
  };
  add(WholeJob(10, 900));
  add({"-ERR no kernels\r\n"});  // what was read before is no change to the server any more
  add(WholeJob(20, 1000));       // the duration is imputed, so it may change
  add({KernelsReply(), ListReply({})});
  FakeServer server(answers);
  JobWatch watch(server.url(), "train");
  CHECK(watch.is_empty());
  CHECK(!watch.Refresh().ok());
  const Status refreshed = watch.Refresh();
  REQUIRE_MESSAGE(refreshed.ok(), (refreshed.ok() ? "" : refreshed.error().message));
  const RankComparison ranks = watch.Ranks();
  REQUIRE(ranks.ranks.size() == 1);
  CHECK(ranks.ranks[0].run.host == "node");
  CHECK(ranks.ranks[0].run.launches == 20);
  CHECK(ranks.ranks[0].captures == 1);
  CHECK(ranks.ranks[0].captured_ns == 1000);
  server.Join();
  CHECK(!watch.Refresh().ok());
  CHECK(watch.Ranks().ranks.size() == 1);  // of the last refresh
}

}  // namespace
}  // namespace stemtap::fleet
