// SPDX-License-Identifier: Apache-2.0
//
// ProtoStream reads the fields of a serialized message of any size, one at a time. The caller holds
// or skips the bytes of each field.
//
// ERRORS: "name: byte N: what; expected what"; N counts decompressed bytes from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap::formats {

// ProtoField is a field of a serialized protocol buffer message: a tag (the number of the field and
// its wire type), then a value (https://protobuf.dev/programming-guides/encoding). The caller knows
// the meaning of the numbers. Values are not decoded further, so that any bytes can be read safely.
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

class ProtoStream {
 public:
  // `message` is the name of the message in errors.
  ProtoStream(std::unique_ptr<ByteSource> source, std::string_view message)
      : source_(std::move(source)), message_(message) {}

  // A field whose value has not been read.
  struct Head {
    std::uint64_t number = 0;
    bool is_bytes = false;
    std::uint64_t size = 0;  // bytes of the value; 0 if it is a varint, which has been read
  };

  // Returns the next field; nullopt at the end of the content. REQUIRES: the value of the previous
  // field was held or skipped.
  Result<std::optional<Head>> Next();

  // Returns the first bytes of a value, at most `size`, and does not read them.
  Result<std::string_view> Peek(const Head& head, std::size_t size);
  // Reads the value into held(). The size is from the file, so memory grows only as bytes arrive.
  Status Hold(const Head& head) { return Read(head.size, true); }
  Status Skip(const Head& head) { return Read(head.size, false); }

  // Valid until the next call of a function that reads.
  std::string_view held() const { return held_; }
  std::uint64_t OffsetOf(const char* in_held) const {
    return held_offset_ + static_cast<std::uint64_t>(in_held - held_.data());
  }

  const std::string& name() const { return source_->name(); }
  // The error for a place that is not a field.
  Error Damaged(std::uint64_t offset) const;
  std::uint64_t offset() const { return offset_; }  // of the next byte

 private:
  Result<std::optional<std::uint64_t>> ReadVarint();
  Status Read(std::uint64_t size, bool keep);

  std::unique_ptr<ByteSource> source_;
  std::string_view message_;
  std::uint64_t offset_ = 0;
  std::string held_;
  std::uint64_t held_offset_ = 0;
};

}  // namespace stemtap::formats
