// SPDX-License-Identifier: Apache-2.0
#include "formats/exporters/roaring.h"

#include <cstddef>
#include <type_traits>
#include <vector>

namespace stemtap::formats {
namespace {

// First word of a file without run containers.
constexpr std::uint32_t kCookie = 12346;
// A container of more values is a bitmap of 65,536 bits, otherwise an ascending list.
constexpr std::size_t kMaxListed = 4096;
constexpr std::size_t kBitmapBytes = 65536 / 8;

// Appends a number in little-endian order.
template <typename Number>
void Append(std::string& bytes, std::type_identity_t<Number> value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

// Container holds the values that share their upper 16 bits.
using Container = std::span<const std::uint32_t>;

std::vector<Container> Split(std::span<const std::uint32_t> values) {
  std::vector<Container> containers;
  while (!values.empty()) {
    std::size_t count = 1;
    while (count < values.size() && values[count] >> 16 == values[0] >> 16) ++count;
    containers.push_back(values.first(count));
    values = values.subspan(count);
  }
  return containers;
}

void AppendContent(std::string& bytes, Container container) {
  if (container.size() <= kMaxListed) {
    for (const std::uint32_t value : container) Append<std::uint16_t>(bytes, value & 0xFFFF);
    return;
  }
  std::string bitmap(kBitmapBytes, '\0');
  for (const std::uint32_t value : container) {
    char& byte = bitmap[(value & 0xFFFF) / 8];
    byte = static_cast<char>(byte | 1 << value % 8);
  }
  bytes += bitmap;
}

}  // namespace

std::string RoaringBitmap(std::span<const std::uint32_t> values) {
  const std::vector<Container> containers = Split(values);
  std::string bytes;
  Append<std::uint32_t>(bytes, kCookie);
  Append<std::uint32_t>(bytes, static_cast<std::uint32_t>(containers.size()));
  for (const Container container : containers) {
    Append<std::uint16_t>(bytes, static_cast<std::uint16_t>(container[0] >> 16));
    Append<std::uint16_t>(bytes, static_cast<std::uint16_t>(container.size() - 1));
  }
  std::size_t offset = bytes.size() + sizeof(std::uint32_t) * containers.size();
  for (const Container container : containers) {
    Append<std::uint32_t>(bytes, static_cast<std::uint32_t>(offset));
    offset += container.size() <= kMaxListed ? 2 * container.size() : kBitmapBytes;
  }
  for (const Container container : containers) AppendContent(bytes, container);
  return bytes;
}

}  // namespace stemtap::formats
