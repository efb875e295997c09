// SPDX-License-Identifier: Apache-2.0
//
// JsonStream reads a JSON document of any size through a window of a few MB: arrays come as runs of
// consecutive elements, objects as keys and values, and every byte goes through simdjson, so that what
// nobody looks at is valid too.
//
// simdjson wants a value whole, in memory, with padding behind it. So the stream finds where values end
// by itself, which takes no more than knowing strings and brackets, and then has the run parsed as an
// array of its own, in place:
//
//   ... ,{"ph":"X"},{"ph":"M"},{"ph  the window, read as far as the source gave
//       [{"ph":"X"},{"ph":"M"}]      the run: the separators at both ends become brackets
//
// Where simdjson accepts that array, its elements are the ones found; where a run is no JSON (brackets
// that do not match, text between values), it refuses, and that is the error.
//
// LIMITS: a value that is taken whole has at most kMaxValueBytes and 1000 levels; numbers fit 64 bits
// or a double.  ERRORS: "name: byte N: what, expected what"; N counts decompressed bytes from 0.
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

namespace stemtap {

class JsonStream {
 public:
  // An event of a trace takes some hundred bytes; the most that a call stack or a list of tensor
  // shapes was seen to take is far below 1 MB. simdjson needs about 14 bytes for each.
  static constexpr std::size_t kMaxValueBytes = std::size_t{16} * 1024 * 1024;

  // Whole values and their text, until the next call of a function that reads on.
  struct Run {
    simdjson::dom::array values;
    // Text of each value, white space around it included. Behind the last stand at least
    // SIMDJSON_PADDING bytes that may be read.
    std::vector<std::string_view> texts;
    std::uint64_t offset = 0;  // byte at which texts[0] begins
    bool last = false;         // the bracket that closes the array or object was taken, too

    std::uint64_t OffsetOf(std::size_t i) const {
      return offset + static_cast<std::uint64_t>(texts[i].data() - texts[0].data());
    }
  };

  static constexpr int kEnd = -1;

  explicit JsonStream(std::unique_ptr<ByteSource> source);

  // Takes a UTF-8 byte order mark, if there is one. To be called first.
  Status TakeByteOrderMark();

  // The next byte that is no white space, which stays unread; kEnd at the end of the content.
  Result<int> Peek();
  // Takes the byte that Peek has shown. REQUIRES: Peek() gave no kEnd since the last other call.
  void Take() { ++begin_; }

  // Takes a key and the colon behind it.
  Result<std::string> TakeKey();
  // Takes a value of an object and the "," or "}" behind it: a run of one value.
  Result<const Run*> TakeMember();
  // Takes at least one element of an array and the "," or "]" behind it. To be called behind "[" or
  // the last such ",".
  Result<const Run*> TakeElements();

  // What error messages call the source, and the error at the next byte.
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
  // [begin_, end_) is not yet taken; SIMDJSON_PADDING bytes stand behind the window. The byte before
  // begin_ is taken and may be overwritten, and stays when the window moves.
  std::vector<char> buffer_;
  std::size_t window_bytes_;
  std::size_t begin_ = 1;
  std::size_t end_ = 1;
  // Offset of buffer_[0], modulo 2^64: the content begins at buffer_[1].
  std::uint64_t base_ = ~std::uint64_t{0};
  bool at_end_ = false;  // the source has no more
  simdjson::dom::parser parser_;
  Run run_;
};

}  // namespace stemtap
