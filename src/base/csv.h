// SPDX-License-Identifier: Apache-2.0
//
// CsvReader splits text into the cells of RFC 4180: commas, quotes around cells that hold commas,
// quotes (doubled) or line ends. Files that are CSV from the first to the last byte are read by
// NextRow(). In tables that stand among other lines, as profilers print them between the output of
// the program, NextLine() and SplitLine() have a stray quote end with its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/line_reader.h"
#include "base/result.h"

namespace stemtap {

class CsvReader {
 public:
  explicit CsvReader(std::unique_ptr<ByteSource> source) : lines_(std::move(source)) {}

  // Goes to the next row and splits it into cells(); false at the end of the content. Empty lines
  // are passed over.
  Result<bool> NextRow();

  // Goes to the next line; false at the end of the content.
  Result<bool> NextLine() { return lines_.Next(); }
  // The line without its end. Valid until the line is split or left.
  std::string_view text() const { return lines_.text(); }
  // Splits the line, from byte `from` on, into cells(); false where a quote is not closed or has
  // text behind it. Once for a line: doubled quotes are made one in place.
  bool SplitLine(std::size_t from = 0);
  // Splits the row that begins with the line into cells(). Once for a line.
  Status SplitRow();

  // Valid until the next line or row.
  const std::vector<std::string_view>& cells() const { return cells_; }

  // Whether a line end stands behind the line or row; false only where the content ends without.
  bool ended() const { return lines_.ended(); }
  // Whether the line or row may be the rest of one that was cut: the content ends in it, without a
  // line end, and its last cell has no closing quote to prove it whole. Of a row only once it is
  // split, for before that nobody knows where it ends; that quotes are made one leaves its last byte.
  bool MayBeCut() const { return !lines_.ended() && !text().ends_with('"'); }

  // 1-based number of the line, or of the row's first; behind the last line, one more than its.
  std::uint64_t line() const { return lines_.number(); }
  // What error messages call the source.
  const std::string& name() const { return lines_.name(); }
  // "name:line".
  std::string Where() const { return lines_.Where(); }
  // "name:line: what".
  Error At(std::string_view what) const { return lines_.At(what); }

 private:
  enum class Ending { kRow, kOpenQuote, kTextAfterQuote };
  struct Place {  // in the line
    std::size_t begin;
    std::size_t size;
  };
  bool TakeRow();
  Ending Split(std::size_t from, bool in_quotes);
  Status EndRow(Ending ending);
  void KeepPlaces();

  LineReader lines_;
  std::vector<std::string_view> cells_;
  Place open_ = {};            // of the cell whose quote is not closed in the line
  std::vector<Place> places_;  // of the cells of a row that has more than one line
};

// The last column of that name; nothing when there is none.
std::optional<std::size_t> FindCell(const std::vector<std::string_view>& cells,
                                    std::string_view name);

}  // namespace stemtap
