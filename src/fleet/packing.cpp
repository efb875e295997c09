// SPDX-License-Identifier: Apache-2.0
#include "fleet/packing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shm/context_key.h"

namespace stemtap::fleet {
namespace {

// Directions of one kernel have fewer clusters than a sketch has bins.
constexpr std::uint64_t kMaxClusters = stats::LogSketch::kEndBin;
constexpr std::uint64_t kMaxKernels = std::uint64_t{1} << 20;

// More launches than a run makes in a year. The sketches of millions of runs can be added.
constexpr std::uint64_t kMaxLaunches = std::uint64_t{1} << 42;

// Of a cell. The sums of thousands of runs can be added.
constexpr stats::uint128 kMaxSquareSum = static_cast<stats::uint128>(1) << 108;

constexpr std::uint64_t kShareUnit = 1'000'000;  // of yields and correlations
constexpr std::uint64_t kMaxPriceNs = std::uint64_t{1} << 62;

static_assert(std::is_trivially_copyable_v<shm::KernelRecord>);

// Returns `value` as a whole number in [0, most]; 0 if it is not a number.
std::uint64_t Whole(double value, std::uint64_t most) {
  if (!(value > 0.0)) return 0;
  const auto limit = static_cast<double>(most);
  return value < limit ? static_cast<std::uint64_t>(std::llround(value)) : most;
}

// Whether the variance of `content` is not negative.
bool HasVariance(const stats::LogSketch::Bin& content) {
  const stats::uint128 sum = content.offset_sum;
  // A product that exceeds 128 bits is greater than the square.
  stats::uint128 scaled = 0;
  return __builtin_mul_overflow(content.offset_square_sum,
                                static_cast<stats::uint128>(content.count), &scaled) ||
         scaled >= sum * sum;
}

// Returns whether `content` can be the sums of durations in `bin`.
bool IsOfDurations(std::uint32_t bin, const stats::LogSketch::Bin& content) {
  const std::uint64_t longest =
      stats::LogSketch::LowerEdge(bin + 1) - stats::LogSketch::LowerEdge(bin) - 1;
  const stats::uint128 sum = content.offset_sum;
  return sum <= static_cast<stats::uint128>(content.count) * longest &&
         content.offset_square_sum <= sum * longest && HasVariance(content);
}

// Returns whether `content` can be a cell whose mean is in `bin`.
bool IsOfCell(std::uint32_t bin, const stats::LogSketch::Bin& content) {
  const std::uint64_t width =
      stats::LogSketch::LowerEdge(bin + 1) - stats::LogSketch::LowerEdge(bin);
  return content.offset_sum <= static_cast<stats::uint128>(content.count) * width &&
         content.offset_square_sum < kMaxSquareSum && HasVariance(content);
}

}  // namespace

Packer& Packer::Number(std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(0x80 | (number & 0x7F));
  bytes_ += static_cast<char>(number);
  return *this;
}

Packer& Packer::Text(std::string_view text) {
  Number(text.size());
  bytes_ += text;
  return *this;
}

std::uint64_t Unpacker::Number() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; ok_ && shift < 64 && !bytes_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_.front());
    if (shift == 63 && byte > 1) break;
    bytes_.remove_prefix(1);
    number |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return number;
  }
  ok_ = false;
  return 0;
}

std::uint64_t Unpacker::Number(std::uint64_t most) {
  const std::uint64_t number = Number();
  if (number <= most) return number;
  ok_ = false;
  return 0;
}

std::string_view Unpacker::Text() {
  const std::uint64_t size = Number();
  if (!ok_ || size > bytes_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view text = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return text;
}

std::string PackId(const model::KernelId& id) {
  Packer packer;
  packer.Text(id.name).Text(id.range);
  for (const auto extent : id.config.grid) packer.Number(extent);
  for (const auto extent : id.config.block) packer.Number(extent);
  return packer.Take();
}

std::optional<model::KernelId> UnpackId(std::string_view bytes) {
  Unpacker unpacker(bytes);
  model::KernelId id;
  id.name = unpacker.Text();
  id.range = unpacker.Text();
  for (std::uint32_t& extent : id.config.grid) {
    extent = static_cast<std::uint32_t>(unpacker.Number(UINT32_MAX));
  }
  for (std::uint16_t& extent : id.config.block) {
    extent = static_cast<std::uint16_t>(unpacker.Number(UINT16_MAX));
  }
  const bool fits = !id.name.empty() && id.name.size() <= shm::kMaxNameBytes &&
                    id.range.size() <= shm::kMaxRangeBytes;
  return unpacker.done() && fits ? std::optional(id) : std::nullopt;
}

std::uint64_t KeyOf(const model::KernelId& id) {
  const std::string bytes = PackId(id);
  return shm::NameHash(bytes.data(), bytes.size());
}

// What the bins contain, and of each bin that is not empty: its distance from the bin before, the
// number of launches, and the sums of LogSketch::Bin, the second one in two halves.
std::string PackSketch(const stats::LogSketch& sketch, BinContent content_of_bins) {
  Packer packer;
  packer.Number(static_cast<std::uint64_t>(content_of_bins));
  std::uint32_t before = 0;
  std::uint32_t bin = sketch.first_bin();
  for (const stats::LogSketch::Bin& content : sketch.bins()) {
    if (content.count != 0) {
      packer.Number(bin - before).Number(content.count).Number(content.offset_sum);
      packer.Number(static_cast<std::uint64_t>(content.offset_square_sum));
      packer.Number(static_cast<std::uint64_t>(content.offset_square_sum >> 64));
      before = bin;
    }
    ++bin;
  }
  return packer.Take();
}

std::optional<stats::LogSketch> UnpackSketch(std::string_view bytes) {
  Unpacker unpacker(bytes);
  const bool is_of_cells = unpacker.Number(1) != 0;
  stats::LogSketch sketch;
  std::uint64_t bin = 0;
  while (unpacker.has_more()) {
    const std::uint64_t distance = unpacker.Number(stats::LogSketch::kEndBin);
    const bool ascends = distance != 0 || sketch.count() == 0;
    bin += distance;
    stats::LogSketch::Bin content;
    content.count = unpacker.Number();
    content.offset_sum = unpacker.Number();
    content.offset_square_sum = unpacker.Number();
    content.offset_square_sum |= static_cast<stats::uint128>(unpacker.Number()) << 64;
    if (!unpacker.ok() || !ascends || bin >= stats::LogSketch::kEndBin || content.count == 0 ||
        content.count > kMaxLaunches - sketch.count() ||
        !(is_of_cells ? IsOfCell : IsOfDurations)(static_cast<std::uint32_t>(bin), content)) {
      return std::nullopt;
    }
    sketch.AddBin(static_cast<std::uint32_t>(bin), content);
  }
  return unpacker.done() ? std::optional(std::move(sketch)) : std::nullopt;
}

std::string PackCapture(const online::Capture& capture) {
  const model::PlanSample& sample = capture.sample;
  Packer packer;
  packer.Number(sample.index).Number(sample.occurrence);
  packer.Number(sample.imputed ? std::uint64_t{capture.bin} + 1 : 0);
  packer.Text({reinterpret_cast<const char*>(&sample.record), sizeof sample.record});
  return packer.Take();
}

std::optional<online::Capture> UnpackCapture(std::string_view bytes) {
  Unpacker unpacker(bytes);
  online::Capture capture;
  model::PlanSample& sample = capture.sample;
  sample.index = unpacker.Number();
  sample.occurrence = unpacker.Number();
  const std::uint64_t imputed_bin = unpacker.Number(stats::LogSketch::kEndBin);
  const std::string_view record = unpacker.Text();
  if (!unpacker.done() || record.size() != sizeof sample.record) return std::nullopt;
  std::memcpy(&sample.record, record.data(), sizeof sample.record);
  if (sample.record.kind != shm::RecordKind::kKernel) return std::nullopt;
  sample.imputed = imputed_bin != 0;
  capture.bin = sample.imputed ? static_cast<std::uint32_t>(imputed_bin - 1)
                               : stats::LogSketch::BinOf(sample.record.duration_ns);
  return capture;
}

std::string PackTraits(const online::KernelReport& kernel) {
  Packer packer;
  packer.Number(kernel.before != nullptr);
  packer.Text(PackSketch(kernel.before != nullptr ? *kernel.before : stats::LogSketch()));
  for (const double rho : kernel.correlations.rho) {
    packer.Number(Whole(rho * kShareUnit, kShareUnit));
  }
  for (const online::Cluster& cluster : kernel.clusters) {
    const online::Source& source = cluster.source;
    packer.Number(cluster.first_bin)
        .Number(Whole(source.yield * kShareUnit, kShareUnit))
        .Number(Whole(source.price_ns, kMaxPriceNs));
  }
  return packer.Take();
}

std::optional<Traits> UnpackTraits(std::string_view bytes) {
  Unpacker unpacker(bytes);
  Traits traits;
  const bool is_sampled = unpacker.Number(1) != 0;
  std::optional<stats::LogSketch> before = UnpackSketch(unpacker.Text());
  if (!before) return std::nullopt;
  if (is_sampled) traits.before = std::move(before);
  const auto share = [&] { return static_cast<double>(unpacker.Number(kShareUnit)) / kShareUnit; };
  for (double& rho : traits.correlations.rho) rho = share();
  while (unpacker.has_more()) {
    Price price;
    price.first_bin = static_cast<std::uint32_t>(unpacker.Number(stats::LogSketch::kEndBin));
    price.yield = std::max(share(), 1.0 / kShareUnit);
    price.price_ns = static_cast<double>(unpacker.Number(kMaxPriceNs));
    if (!traits.prices.empty() && price.first_bin <= traits.prices.back().first_bin) {
      return std::nullopt;
    }
    traits.prices.push_back(price);
  }
  return unpacker.done() ? std::optional(std::move(traits)) : std::nullopt;
}

stats::LogSketch CapturableOf(const stats::LogSketch& all, const Traits& traits) {
  if (!traits.before) return {};
  const stats::LogSketch& before = *traits.before;
  std::uint32_t bin = before.first_bin();
  for (const stats::LogSketch::Bin& earlier : before.bins()) {
    const std::uint32_t at = bin++ - all.first_bin();
    if (earlier.count == 0) continue;
    if (at >= all.bins().size()) return all;
    const stats::LogSketch::Bin& now = all.bins()[at];
    if (earlier.count > now.count || earlier.offset_sum > now.offset_sum ||
        earlier.offset_square_sum > now.offset_square_sum) {
      return all;
    }
  }
  return all.Since(before);
}

std::string PackDirections(std::span<const DirectedKernel> kernels) {
  Packer packer;
  packer.Number(kernels.size());
  for (const DirectedKernel& kernel : kernels) {
    packer.Number(kernel.key).Number(kernel.is_sampled).Number(kernel.clusters.size());
    for (const online::DirectedCluster& cluster : kernel.clusters) {
      packer.Number(cluster.first_bin).Number(cluster.target);
    }
  }
  return packer.Take();
}

std::optional<std::vector<DirectedKernel>> UnpackDirections(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<DirectedKernel> kernels;
  for (std::uint64_t left = unpacker.Number(kMaxKernels); left > 0 && unpacker.ok(); --left) {
    DirectedKernel& kernel = kernels.emplace_back();
    kernel.key = unpacker.Number();
    kernel.is_sampled = unpacker.Number(1) != 0;
    for (std::uint64_t more = unpacker.Number(kMaxClusters); more > 0 && unpacker.ok(); --more) {
      online::DirectedCluster cluster;
      cluster.first_bin = static_cast<std::uint32_t>(unpacker.Number(stats::LogSketch::kEndBin));
      cluster.target = unpacker.Number();
      const bool ascends =
          kernel.clusters.empty() || kernel.clusters.back().first_bin < cluster.first_bin;
      if (!ascends) return std::nullopt;
      kernel.clusters.push_back(cluster);
    }
  }
  return unpacker.done() ? std::optional(std::move(kernels)) : std::nullopt;
}

}  // namespace stemtap::fleet
