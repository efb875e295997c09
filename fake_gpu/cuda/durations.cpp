// SPDX-License-Identifier: Apache-2.0
#include "cuda/durations.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>

#include "cuda/occupancy.h"
#include "cuda/settings.h"

namespace fake_gpu {
namespace {

constexpr std::string_view kFatbin = "\x50\xED\x55\xBA";
constexpr std::string_view kFatbinWrapper = "\xB1\x43\x62\x46";
constexpr std::string_view kElf =
    "\x7F"
    "ELF";

constexpr double kMinNs = 1500;
constexpr double kMaxNs = 10e6;  // longer kernels would dominate every profile
constexpr std::uint64_t kKernelsPerSlowKernel = 4;
constexpr double kSlowShare = 0.03;
constexpr double kSlowFactor = 2.5;

// Compares byte by byte, because a placeholder may end after its first byte.
bool StartsWith(const char* image, std::string_view magic) {
  for (std::size_t i = 0; i < magic.size(); ++i) {
    if (image[i] != magic[i]) return false;
  }
  return true;
}

// Returns `text` after white space and comments.
const char* SkipBlank(const char* text) {
  for (;;) {
    text += std::strspn(text, " \t\r\n");
    if (StartsWith(text, "//")) {
      text += std::strcspn(text, "\n");
    } else if (const char* end; StartsWith(text, "/*") && (end = std::strstr(text, "*/"))) {
      text = end + 2;
    } else {
      return text;
    }
  }
}

bool IsPtx(const char* text) {
  text = SkipBlank(text);
  if (!StartsWith(text, ".version")) return false;
  text += std::strcspn(text, "\n");
  return StartsWith(SkipBlank(text), ".target");
}

bool IsRealCode(const char* image) {
  return image != nullptr && (StartsWith(image, kFatbin) || StartsWith(image, kFatbinWrapper) ||
                              StartsWith(image, kElf) || IsPtx(image));
}

// Returns the first bytes of a file, zero-terminated. They contain the directives of PTX behind
// the comment of its compiler.
std::string Head(const char* path) {
  std::string head(4096, '\0');
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "rb");
  if (file == nullptr) return {};
  head.resize(std::fread(head.data(), 1, head.size(), file));
  std::fclose(file);
  return head;
}

// splitmix64: every bit of the result depends on every bit of `x`.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return Mix(hash);
}

// Returns a number in [0, 1) from 16 bits of `hash`.
double Uniform(std::uint64_t hash, int part) {
  return static_cast<double>((hash >> (16 * part)) & 0xFFFF) / 65536;
}

// Returns the standardized sum of four uniform numbers.
double Normal(std::uint64_t hash) {
  double sum = 0;
  for (int part = 0; part < 4; ++part) sum += Uniform(hash, part);
  return (sum - 2) * std::sqrt(3.0);
}

std::uint64_t ResidentBlocks(Extent block, std::uint32_t shared_bytes) {
  const std::uint64_t blocks = BlocksPerMultiprocessor(block.count(), shared_bytes, 0);
  return kMultiprocessors * std::max<std::uint64_t>(1, blocks);
}

}  // namespace

bool UsesDurationModel(const void* image) {
  switch (settings().durations) {
    case Settings::Durations::kParameter:
      return false;
    case Settings::Durations::kModel:
      return true;
    case Settings::Durations::kAuto:
      break;
  }
  return IsRealCode(static_cast<const char*>(image));
}

bool UsesDurationModelOfFile(const char* path) {
  return UsesDurationModel(Head(path).c_str());
}

DurationModel::DurationModel(std::string_view kernel_name) : hash_(Hash(kernel_name)) {}

double DurationModel::Typical(Extent grid, Extent block, std::uint32_t shared_bytes) const {
  const double base = kMinNs * std::exp2(5 * Uniform(hash_, 0));
  const double wave = 400 + 800 * Uniform(hash_, 1);
  const double waves =
      static_cast<double>(grid.count()) / static_cast<double>(ResidentBlocks(block, shared_bytes));
  return std::min(kMaxNs, base + wave * std::max(0.0, waves - 1));
}

std::uint64_t DurationModel::Next(Extent grid, Extent block, std::uint32_t shared_bytes) {
  const std::uint64_t launch = launches_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t noise = Mix(hash_ ^ Mix(launch ^ Mix(settings().seed)));
  const double sigma = 0.02 + 0.13 * Uniform(hash_, 2);
  double ns = Typical(grid, block, shared_bytes) * std::exp(sigma * Normal(noise));
  if ((hash_ >> 48) % kKernelsPerSlowKernel == 0 && Uniform(Mix(noise), 0) < kSlowShare) {
    ns *= kSlowFactor;
  }
  return static_cast<std::uint64_t>(std::max(kMinNs, ns));
}

}  // namespace fake_gpu
