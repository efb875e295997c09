// SPDX-License-Identifier: Apache-2.0
//
// LineReader gives the lines of a text file one by one, without their ends (LF or CRLF) and without
// a UTF-8 byte order mark. NUL bytes (UTF-16, a binary file) and lines above 4 MiB are errors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

class LineReader {
 public:
  explicit LineReader(std::unique_ptr<ByteSource> source);

  // Goes to the next line; false at the end of the content.
  Result<bool> Next();

  std::string_view line() const { return line_; }    // valid until the next call of Next()
  std::uint64_t number() const { return number_; }   // 1-based
  const std::string& name() const { return name_; }  // fit for a terminal

  // "name:line".
  std::string Where() const;
  // "name:line: what".
  Error At(const std::string& what) const;

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::string_view line_;
  std::uint64_t number_ = 0;
};

}  // namespace stemtap
