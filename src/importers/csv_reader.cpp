// SPDX-License-Identifier: Apache-2.0
#include "importers/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stemtap {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// A row longer than this is a quote that was never closed rather than a row.
constexpr std::size_t kMaxRowBytes = std::size_t{4} * 1024 * 1024;

char* Find(char* begin, char* end, char what) {
  return static_cast<char*>(std::memchr(begin, what, static_cast<std::size_t>(end - begin)));
}

// Turns every doubled quote of `cell` into one, in place.
std::string_view Undouble(std::string_view cell) {
  char* const begin = const_cast<char*>(cell.data());  // points into CsvReader::buffer_
  char* out = begin;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    *out++ = cell[i];
    if (cell[i] == '"') ++i;
  }
  return {begin, static_cast<std::size_t>(out - begin)};
}

}  // namespace

CsvReader::CsvReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(kReadBytes + 1) {
  buffer_[0] = '\n';
}

Error CsvReader::At(const std::string& what) const {
  return Error{fmt::format("{}:{}: {}", name(), line_, what)};
}

Status CsvReader::Fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ + 1 == buffer_.size()) buffer_.resize(2 * end_ + 1);
  while (!at_end_ && end_ + 1 < buffer_.size()) {
    const Result<std::size_t> count =
        source_->Read(buffer_.data() + end_, buffer_.size() - 1 - end_);
    if (!count.ok()) return count.error();
    at_end_ = count.value() == 0;
    end_ += count.value();
  }
  buffer_[end_] = '\n';
  return Success{};
}

CsvReader::Parsed CsvReader::Parse(char* p) {
  char* const end = buffer_.data() + end_;
  cells_.clear();
  quoted_.clear();
  doubled_.clear();
  for (;; ++p) {
    if (*p == '"') {
      char* const first = p + 1;
      quoted_.push_back(static_cast<std::uint32_t>(cells_.size()));
      bool doubled = false;
      for (p = first;; p += 2) {
        p = Find(p, end, '"');
        if (p == nullptr) return at_end_ ? Parsed::kUnterminated : Parsed::kNeedsMore;
        if (p + 1 == end && !at_end_) return Parsed::kNeedsMore;
        if (p[1] != '"') break;
        doubled = true;
      }
      if (doubled) doubled_.push_back(static_cast<std::uint32_t>(cells_.size()));
      cells_.emplace_back(first, static_cast<std::size_t>(p - first));
      ++p;
      if (*p == '\r') {
        if (p + 1 == end && !at_end_) return Parsed::kNeedsMore;
        if (p[1] == '\n') ++p;
      }
      if (*p != ',' && *p != '\n') return Parsed::kTextAfterQuote;
    } else {
      char* const first = p;
      while (*p != ',' && *p != '\n') ++p;  // stops at the line end behind the buffer
      const bool carriage_return = *p == '\n' && p != first && p[-1] == '\r';
      cells_.emplace_back(first, static_cast<std::size_t>(p - first) - (carriage_return ? 1 : 0));
    }
    if (*p == '\n') break;
  }
  if (p == end && !at_end_) return Parsed::kNeedsMore;
  next_ = std::min(p + 1, end);
  return Parsed::kRow;
}

Result<bool> CsvReader::Next() {
  if (!started_) {
    started_ = true;
    const Status filled = Fill();
    if (!filled.ok()) return filled.error();
    if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
      begin_ = kByteOrderMark.size();
    }
  }
  for (;;) {
    line_ = next_line_;
    if (begin_ == end_ && at_end_) return false;
    const Parsed parsed = Parse(buffer_.data() + begin_);
    if (parsed == Parsed::kNeedsMore) {
      if (end_ - begin_ > kMaxRowBytes) {
        return At(fmt::format("a row of more than {} bytes, expected a closing quote or a line end",
                              kMaxRowBytes));
      }
      const Status filled = Fill();
      if (!filled.ok()) return filled.error();
      continue;
    }
    if (parsed == Parsed::kUnterminated) return At("a quote is not closed, expected '\"'");
    if (parsed == Parsed::kTextAfterQuote) {
      return At("text behind a closing quote, expected a comma or a line end");
    }
    begin_ = static_cast<std::size_t>(next_ - buffer_.data());
    ++next_line_;
    if (cells_.size() == 1 && cells_[0].empty() && quoted_.empty()) continue;
    break;
  }
  for (const std::uint32_t cell : quoted_) {
    const std::string_view text = cells_[cell];
    for (std::size_t at = text.find('\n'); at != std::string_view::npos;
         at = text.find('\n', at + 1)) {
      ++next_line_;
    }
  }
  for (const std::uint32_t cell : doubled_) cells_[cell] = Undouble(cells_[cell]);
  return true;
}

}  // namespace stemtap
