// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/proto_stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace stemtap::formats {

namespace {

constexpr std::size_t kMaxVarintBytes = 10;

}  // namespace

Error ProtoStream::Damaged(std::uint64_t offset) const {
  return Error{fmt::format("{}: byte {}: not a field of a message; expected an undamaged {}",
                           name(), offset, message_)};
}

// Returns nullopt at the end of the content.
Result<std::optional<std::uint64_t>> ProtoStream::ReadVarint() {
  const std::string_view leading = STEMTAP_TRY(source_->Peek(kMaxVarintBytes));
  if (leading.empty()) return std::optional<std::uint64_t>();
  std::string_view rest = leading;
  const std::optional<std::uint64_t> value = TakeVarint(rest);
  if (!value) return Damaged(offset_);
  STEMTAP_TRY(Read(leading.size() - rest.size(), false));
  return value;
}

Status ProtoStream::Read(std::uint64_t size, bool keep) {
  held_.clear();
  held_offset_ = offset_;
  for (std::uint64_t left = size; left > 0;) {
    const std::size_t have = keep ? held_.size() : 0;
    held_.resize(have + static_cast<std::size_t>(std::min<std::uint64_t>(left, kReadBytes)));
    const std::size_t read = STEMTAP_TRY(source_->Read(held_.data() + have, held_.size() - have));
    held_.resize(have + read);
    if (read == 0) {
      return Error{fmt::format("{}: byte {}: the file ends {} bytes early; expected a whole file",
                               name(), offset_, left)};
    }
    offset_ += read;
    left -= read;
  }
  return Success{};
}

Result<std::optional<ProtoStream::Head>> ProtoStream::Next() {
  const std::uint64_t at = offset_;
  const std::optional<std::uint64_t> tag = STEMTAP_TRY(ReadVarint());
  if (!tag) return std::optional<Head>();
  Head head;
  head.number = *tag >> 3;
  const std::uint64_t wire_type = *tag & 7;
  if (head.number == 0 || wire_type == 3 || wire_type == 4 || wire_type > 5) return Damaged(at);
  if (wire_type == 1 || wire_type == 5) {
    head.size = wire_type == 1 ? 8 : 4;
    return std::optional(head);
  }
  const std::optional<std::uint64_t> value = STEMTAP_TRY(ReadVarint());
  if (!value) {
    return Error{fmt::format("{}: byte {}: the file ends in a field; expected a whole file", name(),
                             offset_)};
  }
  head.is_bytes = wire_type == 2;
  head.size = head.is_bytes ? *value : 0;
  return std::optional(head);
}

Result<std::string_view> ProtoStream::Peek(const Head& head, std::size_t size) {
  size = static_cast<std::size_t>(std::min<std::uint64_t>(head.size, size));
  if (size == 0) return std::string_view();
  const std::string_view leading = STEMTAP_TRY(source_->Peek(size));
  return leading.substr(0, size);
}

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
