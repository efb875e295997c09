// SPDX-License-Identifier: Apache-2.0
#include "fleet/seal.h"

#include <cstddef>
#include <cstdint>

#include "shm/context_key.h"

namespace stemtap::fleet {
namespace {

// One in 4 billion damaged values matches. A capture has 110 bytes on the server, so each byte
// counts.
constexpr std::size_t kSealBytes = 4;

std::uint64_t HashOf(std::string_view text) {
  return shm::NameHash(text.data(), text.size());
}

std::string SealOf(std::string_view key, std::string_view field, std::string_view value) {
  const std::uint64_t hash = shm::MixKeys(shm::MixKeys(HashOf(key), HashOf(field)), HashOf(value));
  std::string seal;
  for (std::size_t i = 0; i < kSealBytes; ++i) seal += static_cast<char>(hash >> (8 * i));
  return seal;
}

}  // namespace

std::string Sealed(std::string_view key, std::string_view field, std::string value) {
  return value += SealOf(key, field, value);
}

std::optional<std::string_view> Opened(std::string_view key, std::string_view field,
                                       std::string_view sealed) {
  if (sealed.size() < kSealBytes) return std::nullopt;
  const std::string_view value = sealed.substr(0, sealed.size() - kSealBytes);
  if (sealed.substr(value.size()) != SealOf(key, field, value)) return std::nullopt;
  return value;
}

}  // namespace stemtap::fleet
