// SPDX-License-Identifier: Apache-2.0
//
// CsvReader splits text into cells as defined by RFC 4180: cells are separated by commas (or by
// another character); cells that contain commas, quotes (doubled) or line ends are quoted.
// NextRow() reads files that are CSV throughout. NextLine() and SplitLine() read tables among other
// lines, such as profiler tables between lines of program output: a stray quote affects only its
// own line.
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
  // `separator` is between cells: a comma, or a tab in files of tab-separated values.
  explicit CsvReader(std::unique_ptr<ByteSource> source, char separator = ',')
      : lines_(std::move(source)), separator_(separator) {}

  // Advances to the next row and splits it into cells(). Skips empty lines. Returns false at the
  // end of the content.
  Result<bool> NextRow();

  // Advances to the next line. Returns false at the end of the content.
  Result<bool> NextLine() { return lines_.Next(); }
  // The line without its line end. Valid until the line is split or the reader advances.
  std::string_view text() const { return lines_.text(); }
  // Splits the line, starting at byte `from`, into cells(). Returns false if a quote is not closed
  // or is followed by text. Unescapes doubled quotes in place, so call it once per line.
  bool SplitLine(std::size_t from = 0);
  // Splits the line into cells() and checks that there are `width` and that the line is complete.
  Status SplitCells(std::size_t width);
  // Checks that the line or row has `width` cells.
  Status CheckWidth(std::size_t width) const;
  // Splits the row that begins with the line into cells(). Call it once per line.
  Status SplitRow();

  // Valid until the reader advances.
  const std::vector<std::string_view>& cells() const { return cells_; }

  // Whether a line end follows the line or row. False only if the content ends without one.
  bool ended() const { return lines_.ended(); }
  // Whether the line or row may be truncated: the content ends in it without a line end, and its
  // last cell has no closing quote. Valid for a row only after it is split, because the end of the
  // row is unknown before. Unescaping quotes in place does not change the last byte.
  bool MayBeCut() const { return !lines_.ended() && !text().ends_with('"'); }

  // 1-based number of the line, or of the first line of the row. After the last line, one more than
  // its number.
  std::uint64_t line() const { return lines_.number(); }
  // Name of the source in error messages.
  const std::string& name() const { return lines_.name(); }
  // "name:line".
  std::string Where() const { return lines_.Where(); }
  // "name:line: what".
  Error At(std::string_view what) const { return lines_.At(what); }

 private:
  enum class Ending { kRow, kOpenQuote, kTextAfterQuote };
  struct Place {  // byte range in the line
    std::size_t begin;
    std::size_t size;
  };
  bool TakeRow();
  Ending Split(std::size_t from, bool in_quotes);
  Status EndRow(Ending ending);
  void KeepPlaces();

  LineReader lines_;
  char separator_;
  std::vector<std::string_view> cells_;
  Place open_ = {};            // the cell whose quote is still open at the end of the line
  std::vector<Place> places_;  // cells of a row that spans several lines
};

// Returns the index of the last cell equal to `name`, or nullopt.
std::optional<std::size_t> FindCell(const std::vector<std::string_view>& cells,
                                    std::string_view name);

// Returns `text` as a cell of a CSV file, quoted according to RFC 4180 if needed. A text that a
// spreadsheet would evaluate as a formula gets a leading apostrophe; no C++ name is such a text.
std::string CsvCell(std::string_view text);

// Returns `value` as a cell: empty if it is not finite.
std::string CsvCell(double value);

// As CsvCell, but without the apostrophe, for files that stemtap reads again.
std::string ExactCsvCell(std::string_view text);

}  // namespace stemtap
