// SPDX-License-Identifier: Apache-2.0
//
// What the CSV files of profilers have in common and canonical CSV has not: a table that stands
// among other lines (what the profiler and the program printed), where every row is one line; and
// numbers with units.
//
// CsvReader takes a file that is CSV from its first to its last byte. CsvLines goes line by line,
// so that a stray quote in a program's output ends with its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/result.h"

namespace stemtap {

class CsvLines {
 public:
  explicit CsvLines(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Goes to the next line; false at the end of the content. A UTF-8 byte order mark is skipped.
  Result<bool> Next();

  // The line without its end. Valid until the next call of Next() or Split().
  std::string_view text() const { return text_; }

  // Splits the line, from byte `from` on, into cells(); false where a quote is not closed or has
  // text behind it. Call once for a line: doubled quotes are made one in place.
  bool Split(std::size_t from = 0);
  // Valid until the next call of Next().
  const std::vector<std::string_view>& cells() const { return cells_; }

  // Whether the line may be the rest of one that was cut: the content ends in it, without a line
  // end, and its last cell has no closing quote to prove it whole.
  bool MayBeCut() const { return !ended_ && (text_.empty() || text_.back() != '"'); }

  std::uint64_t line() const { return line_; }  // 1-based
  const std::string& name() const { return source_->name(); }
  // "name:line: what".
  Error At(const std::string& what) const;

 private:
  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line in the buffer
  std::size_t searched_ = 0;  // [begin_, searched_) holds no line end
  bool at_end_ = false;       // the source has no more
  bool ended_ = false;        // the line has an end
  std::string_view text_;
  std::vector<std::string_view> cells_;
  std::uint64_t line_ = 0;
};

// The last column of that name; nothing when there is none.
std::optional<std::size_t> FindCell(const std::vector<std::string_view>& cells,
                                    std::string_view name);

// A whole number without sign, space or separator.
std::optional<std::uint64_t> WholeNumber(std::string_view text);

// `text`, a decimal number that is not negative, times 10^exponent, exactly, then rounded half up
// to whole. Nothing when it is no such number, or 2^63 and more.
//   ScaledDecimal("0.148007", 6) == 148007
std::optional<std::uint64_t> ScaledDecimal(std::string_view text, int exponent);

// The power of ten that turns a time of this unit into ns: s, ms, us, ns, also as Nsight Compute
// writes them (second, msecond, usecond, nsecond).
std::optional<int> TimeExponent(std::string_view unit);

}  // namespace stemtap
