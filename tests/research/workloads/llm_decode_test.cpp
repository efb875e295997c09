// SPDX-License-Identifier: Apache-2.0
#include "research/workloads/llm_decode.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "research/workloads/run.h"

namespace stemtap::research {
namespace {

Run RunOf(const LlmDecodeOptions& options, std::size_t limit = 65'536) {
  return ReadWhole(MakeLlmDecode(options), limit);
}

LlmDecodeOptions DecodeLaunches(std::uint64_t launches) {
  LlmDecodeOptions options;
  options.launches = launches;
  return options;
}

bool IsDecodeAttention(const Run& run, std::size_t i) {
  return run.name(i).find("SplitDecode") != std::string::npos;
}

TEST_CASE("equal options give the same run on every machine") {
  const Run run = RunOf(DecodeLaunches(300'000));
  CHECK(SameBytes(run, RunOf(DecodeLaunches(300'000))));
  CHECK(Fingerprint(run) == 5'665'521'534'162'516'471u);
  LlmDecodeOptions other = DecodeLaunches(300'000);
  other.seed = 2;
  CHECK_FALSE(SameLaunches(run, RunOf(other)));
}

TEST_CASE("a run has the requested number of launches, numbered in order") {
  for (const std::uint64_t launches : {1, 2, 163, 65'536, 100'001}) {
    const Run run = RunOf(DecodeLaunches(launches));
    REQUIRE(run.records.size() == launches);
    for (std::size_t i = 0; i < run.records.size(); ++i)
      REQUIRE(run.records[i].correlation_id == i);
  }
}

TEST_CASE("a longer run starts with the launches of a shorter run") {
  Run longer = RunOf(DecodeLaunches(50'000));
  longer.records.resize(20'000);
  CHECK(SameBytes(longer, RunOf(DecodeLaunches(20'000))));
}

TEST_CASE("split reads give the same stream, and names occur with their first launch") {
  const Run whole = RunOf(DecodeLaunches(20'000));
  for (const std::size_t limit : {1, 7, 164, 4'096, 1'000'000}) {
    CHECK(SameBytes(whole, RunOf(DecodeLaunches(20'000), limit)));
  }
  const std::unique_ptr<model::ProfileReader> reader = MakeLlmDecode(DecodeLaunches(20'000));
  model::ProfileBatch batch;
  std::size_t seen = 0;
  while (reader->Read(batch, 1).value() != 0) {
    seen = std::max<std::size_t>(seen, batch.records[0].name_id + 1);
    REQUIRE(reader->names().size() == seen);
  }
  REQUIRE(reader->Read(batch, 10).value() == 0);
  CHECK(seen == 14);
}

TEST_CASE("a different noise seed gives a second run of the same launches") {
  LlmDecodeOptions options = DecodeLaunches(200'000);
  const Run first = RunOf(options);
  options.noise_seed = options.seed;
  CHECK(SameBytes(first, RunOf(options)));
  options.noise_seed = 99;
  const Run second = RunOf(options);
  CHECK(SameLaunches(first, second));
  std::size_t equal = 0;
  for (std::size_t i = 0; i < first.records.size(); ++i) {
    equal += first.records[i].duration_ns == second.records[i].duration_ns;
  }
  CHECK(equal < first.records.size() / 50);
}

TEST_CASE("launches have realistic extents, streams, ascending times and a busy device") {
  const Run run = RunOf(DecodeLaunches(1'000'000));
  std::map<std::uint32_t, std::uint64_t> ends;  // by stream
  std::uint64_t busy = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    const shm::KernelRecord& r = run.records[i];
    REQUIRE(r.kind == shm::RecordKind::kKernel);
    for (int axis = 0; axis < 3; ++axis) {
      REQUIRE(r.grid[axis] >= 1);
      REQUIRE(r.block[axis] >= 1);
    }
    REQUIRE(r.block[0] * r.block[1] * r.block[2] <= 1024);
    REQUIRE((r.stream == 7 || r.stream == 13));
    REQUIRE(r.duration_ns >= 1'000);
    if (i > 0) REQUIRE(r.start_ns > run.records[i - 1].start_ns);
    REQUIRE(r.start_ns >= ends[r.stream]);  // a stream runs one kernel at a time
    ends[r.stream] = r.start_ns + r.duration_ns;
    busy += r.duration_ns;
  }
  const double mean = static_cast<double>(busy) / static_cast<double>(run.records.size());
  CHECK(mean > 5'000.0);
  CHECK(mean < 7'500.0);
  CHECK(static_cast<double>(busy) / static_cast<double>(ends[7]) > 0.85);
}

// Each launch is independently an outlier with p = 1 / 20,000, so 200 of 4,000,000 launches are
// expected, with a standard error of 14.1. Fewer than one seed in 10^7 exceeds six standard errors
// (Poisson tails: 6e-9 above, 2e-11 below). The seed is fixed, so the test never fails by chance.
TEST_CASE("one launch in 20,000 is an outlier, five to thirty times slower") {
  LlmDecodeOptions options = DecodeLaunches(4'000'000);
  const std::unique_ptr<model::ProfileReader> with = MakeLlmDecode(options);
  options.outlier_one_in = 0;  // otherwise, the same run
  const std::unique_ptr<model::ProfileReader> without = MakeLlmDecode(options);
  model::ProfileBatch a;
  model::ProfileBatch b;
  double outliers = 0;
  double least = 1e9;
  double most = 0;
  while (with->Read(a, 65'536).value() != 0) {
    REQUIRE(without->Read(b, 65'536).value() == a.records.size());
    for (std::size_t i = 0; i < a.records.size(); ++i) {
      if (a.records[i].duration_ns == b.records[i].duration_ns) continue;
      const double factor = static_cast<double>(a.records[i].duration_ns) /
                            static_cast<double>(b.records[i].duration_ns);
      outliers += 1;
      least = std::min(least, factor);
      most = std::max(most, factor);
    }
  }
  CHECK(std::fabs(outliers - 200.0) <= 6.0 * std::sqrt(200.0));
  CHECK(least > 4.99);
  CHECK(least < 7.0);
  CHECK(most < 30.0);
  CHECK(most > 28.0);
}

TEST_CASE("the warm-up is 25 to 10 percent slower and ends") {
  LlmDecodeOptions options = DecodeLaunches(6'000);
  const Run cold = RunOf(options);
  options.warmup_launches = 0;
  const Run warm = RunOf(options);
  REQUIRE(SameLaunches(cold, warm));
  double before = 1.251;
  for (std::size_t i = 0; i < cold.records.size(); ++i) {
    const double factor = static_cast<double>(cold.records[i].duration_ns) /
                          static_cast<double>(warm.records[i].duration_ns);
    REQUIRE(factor <= before + 0.002);  // rounding to whole ns
    if (i < 2'000) REQUIRE(factor >= 1.098);
    if (i >= 3'000) REQUIRE(factor == 1.0);
    before = std::min(before, factor + 0.002);
  }
}

// If all launches of a kernel have the same median, the noise is the spread of the durations.
TEST_CASE("noise is log-normal with the sigma of the kernel") {
  LlmDecodeOptions options = DecodeLaunches(400'000);
  options.warmup_launches = 0;
  options.outlier_one_in = 0;
  const Run run = RunOf(options);
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    if (run.records[i].grid[0] != 500) continue;  // the vocabulary in tiles of 64
    if (run.name(i).find("SkinnyKernel") == std::string::npos) continue;
    const double log = std::log(static_cast<double>(run.records[i].duration_ns));
    count += 1;
    sum += log;
    squares += log * log;
  }
  REQUIRE(count > 2'000);
  const double mean = sum / count;
  const double sigma = std::sqrt(squares / count - mean * mean);
  // Six standard errors of sigma, 0.02 / sqrt(2 n) each, fail for 2 seeds in 10^9.
  CHECK(std::fabs(sigma - 0.02) <= 6.0 * 0.02 / std::sqrt(2.0 * count));
  // The known median is 1,800 ns + 32,000 * 2,048 * 2 bytes at 2,400 bytes per ns.
  CHECK(std::fabs(mean - std::log(1'800.0 + 54'613.0)) <= 6.0 * 0.02 / std::sqrt(count));
}

TEST_CASE("attention time grows with the context, and its grid grows by one split per 256 tokens") {
  LlmDecodeOptions options = DecodeLaunches(400'000);
  options.warmup_launches = 0;
  options.outlier_one_in = 0;
  const Run run = RunOf(options);
  std::map<std::uint32_t, std::pair<double, double>> by_splits;  // launches, ns
  std::uint32_t splits = 0;
  std::uint32_t at_this_many = 0;  // consecutive launches
  std::size_t prompts = 0;
  for (std::size_t i = 0; i + 1 < run.records.size(); ++i) {
    if (run.name(i).find("FusedForward") != std::string::npos && splits != 0) {
      ++prompts;
      splits = 0;
    }
    if (!IsDecodeAttention(run, i)) continue;
    const shm::KernelRecord& r = run.records[i];
    by_splits[r.grid[1]].first += 1;
    by_splits[r.grid[1]].second += static_cast<double>(r.duration_ns);
    if (splits != 0) REQUIRE((r.grid[1] == splits || r.grid[1] == splits + 1));
    at_this_many = r.grid[1] == splits ? at_this_many + 1 : 1;
    REQUIRE(at_this_many <= 256 * options.layers);
    splits = r.grid[1];
    // The results of several splits are combined immediately.
    REQUIRE((run.name(i + 1).find("CombineSplits") != std::string::npos) == (splits > 1));
  }
  CHECK(prompts >= 3);  // each starts with its own context
  REQUIRE(by_splits.size() >= 5);
  double before = 0;
  for (const auto& [count, total] : by_splits) {
    const double mean = total.second / total.first;
    CHECK(mean > before);
    before = mean;
  }
}

TEST_CASE("layers and heads determine the model") {
  LlmDecodeOptions options = DecodeLaunches(100'000);
  options.layers = 3;
  options.heads = 32;
  const Run run = RunOf(options);
  std::size_t steps = 0;
  std::size_t appends = 0;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    steps += run.name(i).find("embedding_gather") != std::string::npos;
    appends += run.name(i).find("append_paged") != std::string::npos;
    if (IsDecodeAttention(run, i)) REQUIRE(run.records[i].grid[2] == 32);
  }
  CHECK(appends <= 3 * steps);
  CHECK(appends + 3 >= 3 * steps);  // the last step may be truncated
}

TEST_CASE("a reader rejects options that are out of range") {
  const auto refused = [](auto change) {
    LlmDecodeOptions options;
    change(options);
    const Status status = ValidateLlmDecode(options);
    model::ProfileBatch batch;
    const Result<std::size_t> read = MakeLlmDecode(options)->Read(batch, 10);
    return !status.ok() && status.error().exit_code == 2 && !read.ok() &&
           read.error().message == status.error().message;
  };
  CHECK(ValidateLlmDecode({}).ok());
  CHECK(refused([](LlmDecodeOptions& o) { o.launches = 0; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.layers = 0; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.layers = 257; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.heads = 0; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.split_tokens = 15; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.warmup_launches = 1'000'001; }));
  CHECK(refused([](LlmDecodeOptions& o) { o.outlier_one_in = 1'000'000'001; }));
  LlmDecodeOptions options;
  options.layers = 0;
  CHECK(ValidateLlmDecode(options).error().message == "llm-decode: layers is 0; expected 1 to 256");
}

}  // namespace
}  // namespace stemtap::research
