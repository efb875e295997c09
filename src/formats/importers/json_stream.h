// SPDX-License-Identifier: Apache-2.0
//
// JsonStream reads a JSON document of any size through a window of 256 KiB that grows for larger
// values. Arrays are returned as runs of consecutive elements, objects as keys and values. simdjson
// parses every byte, so values that the caller ignores are validated too.
//
// simdjson needs a whole value in memory, followed by padding. The stream therefore finds the ends
// of values itself, which only requires recognizing strings and brackets, and then parses the run
// in place as an array:
//
//   ... ,{"ph":"X"},{"ph":"M"},{"ph  the window, as far as the source has been read
//       [{"ph":"X"},{"ph":"M"}]      the run: the separators at both ends become brackets
//
// If simdjson accepts that array, its elements are the values found. If the run is not JSON
// (mismatched brackets, text between values), simdjson rejects it, and that is the error.
//
// LIMITS: a value that is read whole has at most kMaxValueBytes and 1000 levels; numbers fit in 64
// bits or a double.
// ERRORS: "name: byte N: what; expected what"; N counts decompressed bytes from 0.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap::formats {

class JsonStream {
 public:
  // A trace event takes a few hundred bytes; the largest call stacks and lists of tensor shapes
  // seen are far below 1 MB. simdjson needs about 14 bytes per byte.
  static constexpr std::size_t kMaxValueBytes = std::size_t{16} * 1024 * 1024;

  // Whole values and their text. Valid until the next call of a function that reads on.
  struct Run {
    simdjson::dom::array values;
    // Text of each value, including surrounding white space. At least SIMDJSON_PADDING readable
    // bytes follow the last value.
    std::vector<std::string_view> texts;
    std::uint64_t offset = 0;  // byte offset of texts[0]
    bool last = false;         // the closing bracket of the array or object was also consumed

    std::uint64_t OffsetOf(std::size_t i) const {
      return offset + static_cast<std::uint64_t>(texts[i].data() - texts[0].data());
    }
  };

  static constexpr int kEnd = -1;

  explicit JsonStream(std::unique_ptr<ByteSource> source);

  // Skips a UTF-8 byte order mark if there is one. Must be called first.
  Status TakeByteOrderMark();

  // Returns the next byte that is not white space without consuming it; kEnd at the end.
  Result<int> Peek();
  // Consumes the byte that Peek returned. REQUIRES: Peek() was called after any other
  // function and did not return kEnd.
  void Take() { ++begin_; }

  // Consumes a key and the colon after it.
  Result<std::string> TakeKey();
  // Consumes a value of an object and the "," or "}" after it: a run of one value.
  Result<const Run*> TakeMember();
  // Consumes at least one element of an array and the "," or "]" after it. Call it after "[" or
  // after the last "," of that array.
  Result<const Run*> TakeElements();

  // The name of the source in error messages, and the error at the next byte.
  const std::string& name() const { return source_->name(); }
  Error Here(std::string_view what) const { return At(base_ + begin_, what); }
  Error At(std::uint64_t offset, std::string_view what) const;

 private:
  Status Fill();
  Status NeedMore(std::string_view inside);
  Result<const Run*> TakeRun(char close, bool many);
  Status Parse(char* first, char* end);
  Error Refuse(const char* first, const char* end, simdjson::error_code code);

  std::unique_ptr<ByteSource> source_;
  // [begin_, end_) is not yet consumed; SIMDJSON_PADDING bytes follow the window. The byte before
  // begin_ is consumed and may be overwritten; it is kept when the window moves.
  std::vector<char> buffer_;
  std::size_t window_bytes_;
  std::size_t begin_ = 1;
  std::size_t end_ = 1;
  // Offset of buffer_[0], modulo 2^64; the content begins at buffer_[1].
  std::uint64_t base_ = ~std::uint64_t{0};
  bool at_end_ = false;  // the source is exhausted
  simdjson::dom::parser parser_;
  Run run_;
};

}  // namespace stemtap::formats
