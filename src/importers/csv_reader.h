// SPDX-License-Identifier: Apache-2.0
//
// CsvReader splits a stream into the cells of RFC 4180: commas, quotes around cells that hold
// commas, quotes (doubled) or line ends. Lines end in LF or CRLF, a UTF-8 byte order mark is
// skipped, and so are empty lines.
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

class CsvReader {
 public:
  explicit CsvReader(std::unique_ptr<ByteSource> source);

  // Goes to the next row; false at the end of the content.
  Result<bool> Next();

  // The row: valid until the next call of Next().
  const std::vector<std::string_view>& cells() const { return cells_; }
  // 1-based line on which the row starts.
  std::uint64_t line() const { return line_; }
  // What error messages call the source.
  const std::string& name() const { return source_->name(); }

  // "name:line: what".
  Error At(const std::string& what) const;

 private:
  enum class Parsed { kRow, kNeedsMore, kUnterminated, kTextAfterQuote };
  Parsed Parse(char* begin);
  Status Fill();

  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;  // [begin_, end_) is not yet parsed, and buffer_[end_] is a line end
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;  // the source has no more
  bool started_ = false;
  char* next_ = nullptr;  // behind the row just parsed
  std::vector<std::string_view> cells_;
  std::vector<std::uint32_t> quoted_;   // cells that had quotes ...
  std::vector<std::uint32_t> doubled_;  // ... and doubled quotes inside
  std::uint64_t line_ = 0;
  std::uint64_t next_line_ = 1;
};

}  // namespace stemtap
