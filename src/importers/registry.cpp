// SPDX-License-Identifier: Apache-2.0
#include "importers/registry.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "importers/binary_profile.h"
#include "importers/canonical_csv.h"

namespace stemtap {
namespace {

constexpr std::size_t kDetectBytes = std::size_t{64} * 1024;

constexpr std::array kFormats = {
    ProfileFormat{"stemtap", "binary profile, plain, .gz or .zst",
                  "stemtap convert profile.csv -o profile.stemtap.zst", LooksLikeBinaryProfile,
                  OpenBinaryProfile},
    ProfileFormat{"csv", "canonical profile CSV, plain, .gz or .zst", "stemtap plan profile.csv.gz",
                  LooksLikeCanonicalCsv, OpenCanonicalCsv},
};

}  // namespace

std::span<const ProfileFormat> ProfileFormats() {
  return kFormats;
}

Result<std::unique_ptr<ProfileReader>> OpenProfile(std::unique_ptr<ByteSource> source) {
  const Result<std::string_view> leading = source->Peek(kDetectBytes);
  if (!leading.ok()) return leading.error();
  if (leading.value().empty()) {
    return Error{fmt::format("{}: empty file, expected a profile", source->name())};
  }
  for (const ProfileFormat& format : kFormats) {
    if (format.detect(leading.value())) return format.open(std::move(source));
  }
  std::string names;
  for (const ProfileFormat& format : kFormats) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format.name);
  }
  return Error{
      fmt::format("{}: not a known profile format, expected one of: {} (see 'stemtap formats')",
                  source->name(), names)};
}

Result<std::unique_ptr<ProfileReader>> OpenProfile(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path);
  if (!source.ok()) return source.error();
  return OpenProfile(std::move(source).value());
}

}  // namespace stemtap
