// SPDX-License-Identifier: Apache-2.0
#include "fleet/packing.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace stemtap::fleet {
namespace {

constexpr std::uint32_t kEndBin = stats::LogSketch::kEndBin;
constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

stats::LogSketch Durations(std::initializer_list<std::uint64_t> durations) {
  stats::LogSketch sketch;
  for (const std::uint64_t duration : durations) sketch.Add(duration);
  return sketch;
}

// Returns a sketch of log-uniform durations from 1 ns to a quarter of an hour.
stats::LogSketch RandomSketch(std::uint64_t seed, int launches) {
  Rng rng(seed);
  stats::LogSketch sketch;
  for (int i = 0; i < launches; ++i) {
    sketch.Add(static_cast<std::uint64_t>(std::exp2(40.0 * rng.Uniform())));
  }
  return sketch;
}

model::KernelId Id() {
  model::KernelId id;
  id.name = "void gemm<float, 128>(float*)";
  id.range = "step/decode";
  id.config.grid[0] = 4'000'000'000;
  id.config.grid[1] = 3;
  id.config.grid[2] = 1;
  id.config.block[0] = 1024;
  id.config.block[1] = 2;
  id.config.block[2] = 65535;
  return id;
}

online::Capture Sample() {
  online::Capture capture;
  model::PlanSample& sample = capture.sample;
  sample.index = kMax64 - 1;
  sample.occurrence = 300;
  sample.record.device = 3;
  sample.record.start_ns = 123'456'789'012;
  sample.record.duration_ns = 4321;
  sample.record.grid[1] = 77;
  sample.record.block[2] = 12;
  sample.record.graph_node = 9;
  return capture;
}

std::vector<DirectedKernel> Directions() {
  return {{7, {{0, 1}, {500, 0}, {kEndBin - 1, kMax64}}}, {kMax64, {}}, {8, {{900, 12}}}};
}

std::vector<online::Cluster> PricedClusters() {
  std::vector<online::Cluster> clusters(3);
  clusters[0].first_bin = 12;
  clusters[0].source = {0, 1.0, 1234.4};
  clusters[1].first_bin = 800;
  clusters[1].source = {1, 0.25, 1e15};
  clusters[2].first_bin = kEndBin - 1;
  clusters[2].source = {0, 1e-9, INFINITY};
  return clusters;
}

bool AreEqual(const stats::LogSketch& a, const stats::LogSketch& b) {
  if (a.count() != b.count() || a.total_duration() != b.total_duration()) return false;
  for (std::uint32_t bin = 0; bin < kEndBin; ++bin) {
    const auto content = [bin](const stats::LogSketch& sketch) {
      const bool has = sketch.first_bin() <= bin && bin - sketch.first_bin() < sketch.bins().size();
      return has ? sketch.bins()[bin - sketch.first_bin()] : stats::LogSketch::Bin();
    };
    const stats::LogSketch::Bin x = content(a);
    const stats::LogSketch::Bin y = content(b);
    if (x.count != y.count || x.offset_sum != y.offset_sum ||
        x.offset_square_sum != y.offset_square_sum) {
      return false;
    }
  }
  return true;
}

// Returns a bin of a packed sketch, `distance` above the one before.
// Reads a sketch with these packed bins.
std::optional<stats::LogSketch> WithBins(const std::string& bins,
                                         BinContent content = BinContent::kDurations) {
  return UnpackSketch(Packer().Number(static_cast<std::uint64_t>(content)).Take() + bins);
}

std::string PackedBin(std::uint64_t distance, std::uint64_t count, std::uint64_t sum,
                      std::uint64_t square_sum, std::uint64_t square_sum_high = 0) {
  return Packer()
      .Number(distance)
      .Number(count)
      .Number(sum)
      .Number(square_sum)
      .Number(square_sum_high)
      .Take();
}

// Checks what a reader returned for bytes of unknown origin.
void CheckIsValid(const model::KernelId& id) {
  CHECK(!id.name.empty());
  CHECK(id.name.size() <= shm::kMaxNameBytes);
  CHECK(id.range.size() <= shm::kMaxRangeBytes);
  CHECK(UnpackId(PackId(id)) == id);
}

void CheckIsValid(const stats::LogSketch& sketch) {
  std::uint64_t count = 0;
  for (std::uint32_t i = 0; i < sketch.bins().size(); ++i) {
    const stats::LogSketch::Bin& bin = sketch.bins()[i];
    if (bin.count == 0) continue;
    CHECK(sketch.first_bin() + i < kEndBin);
    CHECK(!__builtin_add_overflow(count, bin.count, &count));
    // The mean is a duration in the bin, and the variance is one of durations in the bin.
    const stats::Moments moments = sketch.BinMoments(sketch.first_bin() + i);
    const auto lower = static_cast<double>(stats::LogSketch::LowerEdge(sketch.first_bin() + i));
    const double width = lower < 128 ? 1.0 : lower / 64.0;
    CHECK(moments.mean() >= lower);
    CHECK(moments.mean() <= lower + width);
    CHECK(moments.variance() <= width * width);
  }
  CHECK(count == sketch.count());
  const std::optional<stats::LogSketch> again = UnpackSketch(PackSketch(sketch));
  REQUIRE(again);
  CHECK(AreEqual(*again, sketch));
}

struct Cells {
  stats::LogSketch sketch;
};

void CheckIsValid(const Cells& cells) {
  const stats::LogSketch& sketch = cells.sketch;
  for (std::uint32_t i = 0; i < sketch.bins().size(); ++i) {
    if (sketch.bins()[i].count == 0) continue;
    const std::uint32_t bin = sketch.first_bin() + i;
    const stats::Moments moments = sketch.BinMoments(bin);
    const auto lower = static_cast<double>(stats::LogSketch::LowerEdge(bin));
    CHECK(moments.mean() >= lower);
    CHECK(moments.mean() <= lower + (lower < 128 ? 1.0 : lower / 64.0));
    CHECK(moments.variance() >= 0.0);
  }
  const auto again = UnpackSketch(PackSketch(sketch, BinContent::kCells));
  REQUIRE(again);
  CHECK(AreEqual(*again, sketch));
}

void CheckIsValid(const online::Capture& capture) {
  CHECK(capture.sample.record.kind == shm::RecordKind::kKernel);
  CHECK(capture.bin < kEndBin);
}

void CheckIsValid(const Traits& traits) {
  const std::vector<Price>& prices = traits.prices;
  for (const double rho : traits.correlations.rho) CHECK((rho >= 0.0 && rho <= 1.0));
  for (std::size_t i = 0; i < prices.size(); ++i) {
    CHECK(prices[i].first_bin <= kEndBin);
    if (i > 0) CHECK(prices[i - 1].first_bin < prices[i].first_bin);
    CHECK(prices[i].yield > 0.0);
    CHECK(prices[i].yield <= 1.0);
    CHECK(prices[i].price_ns >= 0.0);
    CHECK(std::isfinite(prices[i].price_ns));
  }
}

void CheckIsValid(const std::vector<DirectedKernel>& kernels) {
  for (const DirectedKernel& kernel : kernels) {
    for (std::size_t i = 0; i < kernel.clusters.size(); ++i) {
      CHECK(kernel.clusters[i].first_bin <= kEndBin);
      if (i > 0) CHECK(kernel.clusters[i - 1].first_bin < kernel.clusters[i].first_bin);
    }
  }
  CHECK(UnpackDirections(PackDirections(kernels)).has_value());
}

// Checks that no prefix of `bytes` is accepted as the whole, and that damaged bytes are refused or
// give a valid value. `may_end`: whether a prefix of so many bytes is a valid value itself.
template <typename Unpack, typename MayEnd>
void CheckDamaged(const std::string& bytes, const Unpack& unpack, const MayEnd& may_end) {
  REQUIRE(unpack(bytes).has_value());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(unpack(bytes.substr(0, size)).has_value() == may_end(size));
  }
  Rng rng(bytes.size());
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (std::uint64_t flips = 1 + rng.Below(4); flips > 0; --flips) {
      damaged[rng.Below(damaged.size())] ^= static_cast<char>(1u << rng.Below(8));
    }
    if (rng.Below(4) == 0) damaged.resize(rng.Below(damaged.size() + 1));
    if (rng.Below(4) == 0) damaged.insert(rng.Below(damaged.size() + 1), 1, '\xFF');
    if (const auto value = unpack(damaged)) CheckIsValid(*value);
  }
}

bool Never(std::size_t) {
  return false;
}

TEST_CASE("numbers of all sizes and texts are read back") {
  std::vector<std::uint64_t> numbers = {0};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  numbers.push_back(kMax64);
  Packer packer;
  for (const std::uint64_t number : numbers) packer.Number(number);
  packer.Text("").Text(std::string("a\0b", 3));
  const std::string bytes = packer.Take();
  Unpacker unpacker(bytes);
  for (const std::uint64_t number : numbers) CHECK(unpacker.Number() == number);
  CHECK(unpacker.Text().empty());
  CHECK(!unpacker.done());
  CHECK(unpacker.Text() == std::string("a\0b", 3));
  CHECK(unpacker.done());
}

TEST_CASE("a number that exceeds 64 bits, is cut off or is above its limit fails") {
  for (const std::string& bytes :
       {std::string(), std::string("\x80"), std::string(10, '\x80'),
        std::string(9, '\xFF') + "\x02", std::string(9, '\xFF') + "\x81" + std::string(1, '\0'),
        std::string(1000, '\xFF')}) {
    CAPTURE(bytes.size());
    Unpacker unpacker(bytes);
    CHECK(unpacker.Number() == 0);
    CHECK(!unpacker.ok());
  }
  const std::string bytes = Packer().Number(101).Number(5).Text("ab").Take();
  Unpacker unpacker(bytes);
  CHECK(unpacker.Number(100) == 0);
  // Nothing is returned after a failure.
  CHECK(unpacker.Number() == 0);
  CHECK(unpacker.Text().empty());
  CHECK(!unpacker.has_more());
  CHECK(!unpacker.done());
}

TEST_CASE("a text that is longer than the rest of the bytes fails") {
  for (const std::uint64_t size : {std::uint64_t{4}, std::uint64_t{1} << 60, kMax64}) {
    const std::string bytes = Packer().Number(size).Take() + "abc";
    Unpacker unpacker(bytes);
    CHECK(unpacker.Text().empty());
    CHECK(!unpacker.ok());
  }
}

TEST_CASE("kernel ids are read back") {
  CHECK(UnpackId(PackId(Id())) == Id());
  const model::KernelId plain{"k"};
  CHECK(UnpackId(PackId(plain)) == plain);
  const model::KernelId longest{
      std::string(shm::kMaxNameBytes, 'n'), 0, {}, std::string(shm::kMaxRangeBytes, 'r')};
  CHECK(UnpackId(PackId(longest)) == longest);
}

TEST_CASE("kernel ids that no run can have are refused") {
  CHECK(!UnpackId(PackId({""})));
  CHECK(!UnpackId(PackId({std::string(shm::kMaxNameBytes + 1, 'n')})));
  CHECK(!UnpackId(PackId({"k", 0, {}, std::string(shm::kMaxRangeBytes + 1, 'r')})));
  CHECK(!UnpackId(PackId(Id()) + '\0'));
  const auto packed = [](std::uint64_t grid, std::uint64_t block) {
    Packer packer;
    packer.Text("k").Text("");
    for (int i = 0; i < 3; ++i) packer.Number(grid);
    for (int i = 0; i < 3; ++i) packer.Number(block);
    return packer.Take();
  };
  CHECK(UnpackId(packed(UINT32_MAX, UINT16_MAX)));
  CHECK(!UnpackId(packed(UINT32_MAX + std::uint64_t{1}, 1)));
  CHECK(!UnpackId(packed(1, UINT16_MAX + std::uint64_t{1})));
}

TEST_CASE("damaged kernel ids are refused or valid") {
  CheckDamaged(PackId(Id()), UnpackId, Never);
}

TEST_CASE("kernels that differ in one part of their ids have different keys") {
  std::vector<model::KernelId> ids(5, Id());
  ids[1].name += "x";
  ids[2].range = "";
  ids[3].config.grid[2] = 2;
  ids[4].config.block[0] = 512;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    CHECK(KeyOf(ids[i]) == KeyOf(model::KernelId(ids[i])));
    for (std::size_t j = 0; j < i; ++j) CHECK(KeyOf(ids[i]) != KeyOf(ids[j]));
  }
}

TEST_CASE("sketches are read back bit for bit") {
  const stats::LogSketch none;
  CHECK(AreEqual(UnpackSketch(PackSketch(none)).value(), none));
  for (const stats::LogSketch& sketch :
       {Durations({0}), Durations({63, 64, 127, 128, 129}), Durations({kMax64, kMax64, 0, 1}),
        RandomSketch(1, 10), RandomSketch(2, 5000)}) {
    const std::optional<stats::LogSketch> unpacked = UnpackSketch(PackSketch(sketch));
    REQUIRE(unpacked);
    CHECK(AreEqual(*unpacked, sketch));
    CHECK(unpacked->All().m2() == sketch.All().m2());
  }
}

TEST_CASE("a sketch whose sum of squares needs more than 64 bits is read back") {
  const stats::LogSketch sketch =
      Durations({(std::uint64_t{1} << 62) + (std::uint64_t{1} << 50), std::uint64_t{1} << 62});
  REQUIRE(sketch.total_duration() != 0);
  const stats::LogSketch unpacked = UnpackSketch(PackSketch(sketch)).value();
  CHECK(AreEqual(unpacked, sketch));
  CHECK(unpacked.All().variance() > 0.0);
}

TEST_CASE("damaged sketches are refused or valid") {
  for (const stats::LogSketch& sketch :
       {Durations({100, 100, 101, 5000}), Durations({1, kMax64}), RandomSketch(3, 40)}) {
    // A prefix of whole bins is a sketch.
    std::vector<bool> ends = {true};
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < sketch.bins().size(); ++i) {
      const stats::LogSketch::Bin& bin = sketch.bins()[i];
      if (bin.count == 0) continue;
      ends.resize(ends.size() + PackedBin(sketch.first_bin() + i - before, bin.count,
                                          bin.offset_sum,
                                          static_cast<std::uint64_t>(bin.offset_square_sum),
                                          static_cast<std::uint64_t>(bin.offset_square_sum >> 64))
                                    .size());
      ends.back() = true;
      before = sketch.first_bin() + i;
    }
    const auto may_end = [&](std::size_t size) { return ends[size]; };
    // The first byte is the content of the bins.
    const std::string bins = PackSketch(sketch).substr(1);
    CheckDamaged(
        bins, [](const std::string& bytes) { return WithBins(bytes); }, may_end);
  }
}

TEST_CASE("damaged sketches of cells are refused or valid") {
  const stats::Moments cell(40, 700.5, 8e6);
  const std::string bins =
      PackSketch(online::SketchOfCells({{cell}, {stats::LogSketch::BinOf(700)}})).substr(1);
  const auto cells = [](const std::string& bytes) -> std::optional<Cells> {
    std::optional<stats::LogSketch> unpacked = WithBins(bytes, BinContent::kCells);
    return unpacked ? std::optional(Cells{*std::move(unpacked)}) : std::nullopt;
  };
  CheckDamaged(bins, cells, [](std::size_t size) { return size == 0; });
}

TEST_CASE("a sketch has one of the two contents of bins") {
  CHECK(UnpackSketch(Packer().Number(1).Take()).has_value());
  CHECK(!UnpackSketch(Packer().Number(2).Take()));
  CHECK(!UnpackSketch(""));
}

TEST_CASE("sketches that no run can have are refused") {
  CHECK(WithBins(PackedBin(100, 3, 0, 0)));
  CHECK(!WithBins(PackedBin(100, 0, 0, 0)));
  CHECK(WithBins(PackedBin(kEndBin - 1, 3, 0, 0)));
  CHECK(!WithBins(PackedBin(kEndBin, 3, 0, 0)));
  CHECK(!WithBins(PackedBin(kMax64, 3, 0, 0)));
  // Bins above the end, after valid ones.
  CHECK(!WithBins(PackedBin(kEndBin - 1, 3, 0, 0) + PackedBin(1, 1, 0, 0)));
  CHECK(!WithBins(PackedBin(100, 3, 0, 0) + PackedBin(kMax64 - 50, 1, 0, 0)));
  // The same bin again.
  CHECK(!WithBins(PackedBin(100, 3, 0, 0) + PackedBin(0, 1, 0, 0)));
  CHECK(WithBins(PackedBin(0, 3, 0, 0) + PackedBin(1, 1, 0, 0)));
}

TEST_CASE("counts of launches that no run has made are refused") {
  CHECK(!WithBins(PackedBin(100, std::uint64_t{1} << 60, 0, 0)));
  CHECK(!WithBins(PackedBin(100, kMax64, 0, 0)));
  // The sum does not fit 64 bits.
  CHECK(!WithBins(PackedBin(100, kMax64, 0, 0) + PackedBin(1, 2, 0, 0)));
  // Sketches of many runs can be added.
  const std::string most = PackedBin(kEndBin - 1, (std::uint64_t{1} << 42), 0, 0);
  stats::LogSketch sum;
  for (int run = 0; run < 1000; ++run) sum.Merge(WithBins(most).value());
  CHECK(sum.count() == 1000 * (std::uint64_t{1} << 42));
  CHECK(!WithBins(most + PackedBin(0, 1, 0, 0)));
  CHECK(!WithBins(PackedBin(1, 1, 0, 0) + PackedBin(kEndBin - 2, (std::uint64_t{1} << 42), 0, 0)));
}

TEST_CASE("sums that no durations of a bin have are refused") {
  // Bin 256 contains durations from 512 to 519.
  constexpr std::uint32_t kBin = 256;
  REQUIRE(stats::LogSketch::LowerEdge(kBin) == 512);
  REQUIRE(stats::LogSketch::LowerEdge(kBin + 1) == 520);
  CHECK(WithBins(PackedBin(kBin, 2, 14, 98)));
  CHECK(WithBins(PackedBin(kBin, 2, 7, 49)));
  CHECK(!WithBins(PackedBin(kBin, 2, 15, 113)));
  CHECK(!WithBins(PackedBin(kBin, 2, 7, 50)));
  CHECK(!WithBins(PackedBin(kBin, 2, 7, 49, 1)));
  CHECK(!WithBins(PackedBin(kBin, 2, 14, 97)));
  CHECK(!WithBins(PackedBin(kBin, 2, 0, 1)));
  CHECK(!WithBins(PackedBin(kBin, 2, kMax64, kMax64, kMax64)));
  // A bin of 1 ns has no offsets.
  CHECK(!WithBins(PackedBin(5, 2, 1, 1)));
  // The widest bin.
  constexpr std::uint64_t kWidest = (std::uint64_t{1} << 57) - 1;
  constexpr auto kSquare = static_cast<stats::uint128>(kWidest) * kWidest;
  CHECK(WithBins(PackedBin(kEndBin - 1, 1, kWidest, static_cast<std::uint64_t>(kSquare),
                           static_cast<std::uint64_t>(kSquare >> 64))));
  CHECK(!WithBins(PackedBin(kEndBin - 1, 1, kWidest + 1, static_cast<std::uint64_t>(kSquare),
                            static_cast<std::uint64_t>(kSquare >> 64))));
}

TEST_CASE("captures are read back") {
  const online::Capture capture = UnpackCapture(PackCapture(Sample())).value();
  const model::PlanSample& sample = capture.sample;
  const model::PlanSample expected = Sample().sample;
  CHECK(sample.index == expected.index);
  CHECK(sample.occurrence == expected.occurrence);
  CHECK(std::memcmp(&sample.record, &expected.record, sizeof expected.record) == 0);
  CHECK(sample.range.empty());
  CHECK(sample.pooled == model::kNotPooled);
  CHECK_FALSE(sample.imputed);
  CHECK(capture.bin == stats::LogSketch::BinOf(4321));
}

TEST_CASE("a capture with an imputed duration keeps its bin") {
  for (const std::uint32_t bin : {0u, 200u, kEndBin - 1}) {
    online::Capture capture = Sample();
    capture.sample.imputed = true;
    capture.bin = bin;
    const online::Capture unpacked = UnpackCapture(PackCapture(capture)).value();
    CHECK(unpacked.sample.imputed);
    CHECK(unpacked.sample.record.duration_ns == 4321);
    CHECK(unpacked.bin == bin);
  }
  online::Capture capture = Sample();
  capture.sample.imputed = true;
  capture.bin = kEndBin;
  CHECK(!UnpackCapture(PackCapture(capture)));
}

TEST_CASE("a sketch of cells may contain launches outside of its bins") {
  // Durations of 600 to 6000 ns, with a mean that is not a whole number.
  stats::Moments cell;
  for (int i = 0; i < 7; ++i) cell.Add(600.0 + 900.0 * i + 0.25);
  const std::uint32_t bin = stats::LogSketch::BinOf(static_cast<std::uint64_t>(cell.mean()));
  const stats::LogSketch sketch = online::SketchOfCells({{cell}, {bin}});
  const stats::LogSketch unpacked = UnpackSketch(PackSketch(sketch, BinContent::kCells)).value();
  CHECK(AreEqual(unpacked, sketch));
  CHECK(unpacked.All().count() == 7);
  CHECK(unpacked.All().mean() == doctest::Approx(cell.mean()).epsilon(1e-4));
  CHECK(unpacked.All().variance() == doctest::Approx(cell.variance()).epsilon(1e-4));
  CHECK(!UnpackSketch(PackSketch(sketch)));
  CHECK(WithBins(PackedBin(100, 3, 3, 1'000'000), BinContent::kCells));
  CHECK(!WithBins(PackedBin(100, 3, 4, 1'000'000), BinContent::kCells));  // the mean is in 101
  CHECK(!WithBins(PackedBin(100, 3, 3, 2), BinContent::kCells));          // no variance is negative
  CHECK(!WithBins(PackedBin(100, 3, 3, 0, std::uint64_t{1} << 44), BinContent::kCells));
}

TEST_CASE("damaged captures are refused or valid") {
  CheckDamaged(PackCapture(Sample()), UnpackCapture, Never);
}

TEST_CASE("captures with another record are refused") {
  const auto packed = [](std::size_t size) {
    return Packer().Number(1).Number(2).Number(0).Text(std::string(size, '\1')).Take();
  };
  CHECK(UnpackCapture(packed(sizeof(shm::KernelRecord))));
  CHECK(!UnpackCapture(packed(sizeof(shm::KernelRecord) - 1)));
  CHECK(!UnpackCapture(packed(sizeof(shm::KernelRecord) + 1)));
  CHECK(!UnpackCapture(packed(sizeof(shm::KernelRecord)) + "x"));
  online::Capture capture = Sample();
  capture.sample.record.kind = shm::RecordKind::kName;
  CHECK(!UnpackCapture(PackCapture(capture)));
}

stats::Correlations Falling() {
  stats::Correlations correlations;
  double rho = 1.0;
  for (double& of_distance : correlations.rho) of_distance = rho *= 0.75;
  return correlations;
}

online::KernelReport Reported(std::span<const online::Cluster> clusters,
                              const stats::Correlations& correlations) {
  online::KernelReport kernel;
  kernel.clusters = clusters;
  kernel.correlations = correlations;
  return kernel;
}

TEST_CASE("traits are read back, rounded") {
  const Traits traits = UnpackTraits(PackTraits(Reported(PricedClusters(), Falling()))).value();
  const std::vector<Price>& prices = traits.prices;
  for (std::size_t i = 0; i < stats::Correlations::kDistances; ++i) {
    CHECK(traits.correlations.rho[i] == doctest::Approx(Falling().rho[i]).epsilon(1e-5));
  }
  REQUIRE(prices.size() == 3);
  CHECK(prices[0].first_bin == 12);
  CHECK(prices[0].yield == 1.0);
  CHECK(prices[0].price_ns == 1234.0);
  CHECK(prices[1].first_bin == 800);
  CHECK(prices[1].yield == 0.25);
  CHECK(prices[1].price_ns == 1e15);
  CHECK(prices[2].first_bin == kEndBin - 1);
  CHECK(prices[2].yield == 1e-6);  // never 0
  CHECK(prices[2].price_ns == std::ldexp(1.0, 62));
  CHECK(UnpackTraits(PackTraits({})).value().prices.empty());
}

TEST_CASE("traits that are no numbers or out of range can be read back") {
  std::vector<online::Cluster> clusters(4);
  for (std::uint32_t i = 0; i < clusters.size(); ++i) clusters[i].first_bin = i;
  clusters[0].source = {0, 1.0 + 1e-5, NAN};
  clusters[1].source = {0, NAN, -1.0};
  clusters[2].source = {0, -0.5, 1e300};
  clusters[3].source = {0, INFINITY, 0.0};
  stats::Correlations correlations;
  correlations.rho = {NAN, -1.0, INFINITY, 1e300, 0.5, 0.0, 1.0};
  const std::optional<Traits> traits = UnpackTraits(PackTraits(Reported(clusters, correlations)));
  REQUIRE(traits);
  CHECK(traits->prices.size() == 4);
  CheckIsValid(*traits);
}

TEST_CASE("damaged traits are refused or valid") {
  const std::vector<online::Cluster> clusters = PricedClusters();
  const auto size_of = [&](std::size_t some) {
    return PackTraits(Reported(std::span(clusters).first(some), Falling())).size();
  };
  const std::size_t none = size_of(0);
  const std::size_t first = size_of(1);
  const std::size_t second = size_of(2);
  CheckDamaged(PackTraits(Reported(clusters, Falling())), UnpackTraits,
               [&](std::size_t size) { return size == none || size == first || size == second; });
}

TEST_CASE("traits that no run can have are refused") {
  const std::string none = PackTraits({});
  const auto packed = [](std::uint64_t bin, std::uint64_t yield, std::uint64_t price) {
    return Packer().Number(bin).Number(yield).Number(price).Take();
  };
  CHECK(UnpackTraits(none + packed(9, 1'000'000, 5)));
  CHECK(!UnpackTraits(none + packed(9, 1'000'001, 5)));
  CHECK(!UnpackTraits(none + packed(kEndBin + 1, 1, 5)));
  CHECK(!UnpackTraits(none + packed(9, 1, kMax64)));
  CHECK(UnpackTraits(none + packed(9, 1, 5) + packed(10, 1, 5)));
  CHECK(!UnpackTraits(none + packed(9, 1, 5) + packed(9, 1, 5)));
  CHECK(!UnpackTraits(none + packed(9, 1, 5) + packed(8, 1, 5)));
}

TEST_CASE("the launches that can be captured are those after the ones before") {
  stats::LogSketch before;
  for (const std::uint64_t duration : {100, 5000, 5010}) before.Add(duration);
  stats::LogSketch all = before;
  for (const std::uint64_t duration : {7, 5000, 900'000}) all.Add(duration);
  online::KernelReport kernel;
  CHECK(CapturableOf(all, UnpackTraits(PackTraits(kernel)).value()).count() == 0);
  kernel.before = &before;
  const Traits traits = UnpackTraits(PackTraits(kernel)).value();
  stats::LogSketch expected;
  for (const std::uint64_t duration : {7, 5000, 900'000}) expected.Add(duration);
  CHECK(AreEqual(CapturableOf(all, traits), expected));
  // Of another kernel.
  stats::LogSketch other;
  other.Add(5000);
  CHECK(AreEqual(CapturableOf(other, traits), other));
  CHECK(CapturableOf({}, traits).count() == 0);
}

TEST_CASE("directions are read back") {
  const std::vector<DirectedKernel> kernels =
      UnpackDirections(PackDirections(Directions())).value();
  REQUIRE(kernels.size() == Directions().size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    CHECK(kernels[i].key == Directions()[i].key);
    REQUIRE(kernels[i].clusters.size() == Directions()[i].clusters.size());
    for (std::size_t c = 0; c < kernels[i].clusters.size(); ++c) {
      CHECK(kernels[i].clusters[c].first_bin == Directions()[i].clusters[c].first_bin);
      CHECK(kernels[i].clusters[c].target == Directions()[i].clusters[c].target);
    }
    CHECK(kernels[i].is_sampled == Directions()[i].is_sampled);
  }
  CHECK(UnpackDirections(PackDirections({})).value().empty());
}

TEST_CASE("damaged directions are refused or valid") {
  CheckDamaged(PackDirections(Directions()), UnpackDirections, Never);
}

TEST_CASE("directions with huge counts or unordered clusters are refused") {
  for (const std::uint64_t huge : {std::uint64_t{1} << 20, std::uint64_t{1} << 60, kMax64}) {
    CHECK(!UnpackDirections(Packer().Number(huge).Take()));
    CHECK(!UnpackDirections(Packer().Number(1).Number(7).Number(0).Number(huge).Take()));
    CHECK(!UnpackDirections(Packer().Number(1).Number(7).Number(huge).Number(0).Take()));
  }
  const auto packed = [](std::uint64_t first, std::uint64_t second) {
    Packer packer;
    for (const std::uint64_t number : {1, 7, 1, 2}) packer.Number(number);
    return packer.Number(first).Number(1).Number(second).Number(1);
  };
  CHECK(UnpackDirections(packed(5, 6).Take()));
  CHECK(!UnpackDirections(packed(6, 6).Take()));
  CHECK(!UnpackDirections(packed(6, 5).Take()));
  CHECK(!UnpackDirections(packed(6, kEndBin + 1).Take()));
  CHECK(!UnpackDirections(packed(5, 6).Number(0).Take()));
}

}  // namespace
}  // namespace stemtap::fleet
