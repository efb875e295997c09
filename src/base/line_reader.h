// SPDX-License-Identifier: Apache-2.0
//
// LineReader gives the lines of a text one by one, without their ends (LF or CRLF) and without a
// UTF-8 byte order mark. Longer lines than the limit and NUL bytes (UTF-16, a binary file) are
// errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

// A longer line is no text. The raw page of Nsight Compute has a few thousand columns: 100 KB.
inline constexpr std::size_t kMaxLineBytes = std::size_t{4} * 1024 * 1024;

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<ByteSource> source, std::size_t max_bytes = kMaxLineBytes);

  // Goes to the next line; false at the end of the content.
  Result<bool> Next();

  // Has the line go on to the end of the one that follows, with what ended it between them; false,
  // and the line as it was, where none follows. For texts whose quotes may hold line ends.
  Result<bool> Extend();

  // For readers that find the end of a line while they look through it: what is held of the lines
  // to come, with a line end of its own behind it, and the next line as its first `size` bytes;
  // false, and nothing done, where Next() must decide. REQUIRES: a line end behind them, and none
  // within.
  std::string_view held() const { return {buffer_.data() + next_, end_ - next_}; }
  bool TryTake(std::size_t size);

  // Valid until the next line.
  std::string_view text() const { return {buffer_.data() + begin_, stop_ - begin_}; }
  // The bytes of text(), which may be changed in place.
  char* data() { return buffer_.data() + begin_; }
  // Whether a line end stands behind the line; false only where the content ends without one. Behind
  // the last line, what it was there.
  bool ended() const { return ended_; }

  // 1-based number of the line, the first one of several; behind the last line, one more than its.
  std::uint64_t number() const { return number_; }
  // What error messages call the source.
  const std::string& name() const { return source_->name(); }
  // "name:line".
  std::string Where() const;
  // "name:line: what".
  Error At(std::string_view what) const;

 private:
  Result<bool> FindEnd(const char* too_long);
  Status Fill();

  std::unique_ptr<ByteSource> source_;
  std::size_t max_bytes_;
  // [begin_, stop_) is the line, [next_, end_) is not yet looked at, and buffer_[end_] is a line end.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t stop_ = 0;
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::size_t nul_;      // the first NUL byte; far behind the buffer where there is none
  bool at_end_ = false;  // the source has no more
  bool ended_ = false;
  std::uint64_t number_ = 1;
  std::uint64_t next_number_ = 1;
};

}  // namespace stemtap
