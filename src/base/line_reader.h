// SPDX-License-Identifier: Apache-2.0
//
// LineReader reads a text line by line, without line ends (LF or CRLF) and without a UTF-8 byte
// order mark. Lines above the size limit and NUL bytes (UTF-16, a binary file) are errors.
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

// A file with longer lines is probably not text. The longest lines known, the raw page of Nsight
// Compute with a few thousand columns, have 100 KB.
inline constexpr std::size_t kMaxLineBytes = std::size_t{4} * 1024 * 1024;

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<ByteSource> source, std::size_t max_bytes = kMaxLineBytes);

  // Advances to the next line. Returns false at the end of the content.
  Result<bool> Next();

  // Appends the next line to the current one, with the line end between them. Returns false and
  // leaves the line unchanged at the end of the content. For formats whose quotes may contain line
  // ends.
  Result<bool> Extend();

  // Returns the buffered lookahead, for readers that search for the line end themselves. A line end
  // is always readable right after it.
  std::string_view held() const { return {buffer_.data() + next_, end_ - next_}; }
  // Advances to the next line, which is the first `size` bytes of held(). Returns false and does
  // nothing if the line needs Next(). REQUIRES: a line end follows these bytes; none is within
  // them.
  bool TryTake(std::size_t size);

  // Valid until the reader advances.
  std::string_view text() const { return {buffer_.data() + begin_, stop_ - begin_}; }
  // The bytes of text(), which callers may modify in place.
  char* data() { return buffer_.data() + begin_; }
  // Whether a line end follows the line. False only if the content ends without one. Keeps the
  // value of the last line at the end of the content.
  bool ended() const { return ended_; }

  // 1-based number of the line, or of the first line after Extend(). After the last line, one more
  // than its number.
  std::uint64_t number() const { return number_; }
  // Name of the source in error messages.
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
  // [begin_, stop_) is the line, [next_, end_) is the lookahead, and buffer_[end_] is a line end.
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t stop_ = 0;
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::size_t nul_;      // position of the first NUL byte; the maximum value if there is none
  bool at_end_ = false;  // the source is exhausted
  bool ended_ = false;
  std::uint64_t number_ = 1;
  std::uint64_t next_number_ = 1;
};

}  // namespace stemtap
