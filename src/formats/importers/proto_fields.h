// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of a serialized protocol buffer message: a tag (the number of the field and its
// wire type), then a value (https://protobuf.dev/programming-guides/encoding). The caller knows the
// meaning of the numbers. Values are not decoded further, so that any bytes can be read safely.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stemtap::formats {

struct ProtoField {
  std::uint64_t number = 0;
  bool is_varint = false;
  std::uint64_t varint = 0;
  bool is_bytes = false;   // a string, bytes, a nested message or packed numbers
  std::string_view bytes;  // also of numbers with a fixed width
  bool is_cut = false;     // the input ends before the end of `bytes`
};

// Removes a varint from the front of `input`; nullopt if `input` does not contain all of it or it
// has more than 64 bits.
std::optional<std::uint64_t> TakeVarint(std::string_view& input);

// Removes the next field from the front of `message`; nullopt at its end or if the bytes are not a
// field. The deprecated groups are not fields.
std::optional<ProtoField> TakeField(std::string_view& message);

}  // namespace stemtap::formats
