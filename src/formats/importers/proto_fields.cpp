// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/proto_fields.h"

namespace stemtap::formats {

std::optional<std::uint64_t> TakeVarint(std::string_view& input) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !input.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<ProtoField> TakeField(std::string_view& message) {
  const std::optional<std::uint64_t> tag = TakeVarint(message);
  if (!tag || *tag >> 3 == 0) return std::nullopt;
  ProtoField field;
  field.number = *tag >> 3;
  std::uint64_t size = 0;
  switch (*tag & 7) {
    case 0: {
      const std::optional<std::uint64_t> value = TakeVarint(message);
      if (!value) return std::nullopt;
      field.is_varint = true;
      field.varint = *value;
      return field;
    }
    case 1:
      size = 8;
      break;
    case 2: {
      const std::optional<std::uint64_t> length = TakeVarint(message);
      if (!length) return std::nullopt;
      field.is_bytes = true;
      size = *length;
      break;
    }
    case 5:
      size = 4;
      break;
    default:
      return std::nullopt;
  }
  field.bytes = message.substr(0, size);
  field.is_cut = field.bytes.size() < size;
  message.remove_prefix(field.bytes.size());
  return field;
}

}  // namespace stemtap::formats
