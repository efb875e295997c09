// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <utility>

namespace stemtap {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

std::size_t Find(const std::vector<char>& bytes, char what, std::size_t from, std::size_t to) {
  if (from == to) return kNowhere;
  const void* const at = std::memchr(bytes.data() + from, what, to - from);
  return at == nullptr ? kNowhere
                       : static_cast<std::size_t>(static_cast<const char*>(at) - bytes.data());
}

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::size_t max_bytes)
    : source_(std::move(source)),
      max_bytes_(max_bytes),
      buffer_(kReadBytes + 1, '\n'),
      nul_(kNowhere) {}

std::string LineReader::Where() const {
  return fmt::format("{}:{}", name(), number_);
}

Error LineReader::At(std::string_view what) const {
  return Error{fmt::format("{}:{}: {}", name(), number_, what)};
}

// Reads more bytes after end_. Discards the bytes before begin_.
Status LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    if (nul_ != kNowhere) nul_ -= begin_;
    stop_ -= begin_;
    next_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ + 1 == buffer_.size()) buffer_.resize(2 * end_ + 1);
  const std::size_t count =
      STEMTAP_TRY(source_->Read(buffer_.data() + end_, buffer_.size() - 1 - end_));
  at_end_ = count == 0;
  if (nul_ == kNowhere) nul_ = Find(buffer_, '\0', end_, end_ + count);
  end_ += count;
  buffer_[end_] = '\n';
  return Success{};
}

// Extends the current line to the end of the line that begins at next_. Returns false if the
// content ends at next_. `too_long` is the error message for a line above the size limit.
Result<bool> LineReader::FindEnd(const char* too_long) {
  std::size_t newline = Find(buffer_, '\n', next_, end_);
  const auto above_limit = [&] { return At(fmt::format(fmt::runtime(too_long), max_bytes_)); };
  while (newline == kNowhere && !at_end_) {
    if (end_ - begin_ > max_bytes_) return above_limit();
    const std::size_t searched = end_ - begin_;
    STEMTAP_TRY(Fill());
    newline = Find(buffer_, '\n', searched, end_);
  }
  if (next_ == end_) return false;
  ended_ = newline != kNowhere;
  stop_ = ended_ ? newline : end_;
  next_ = ended_ ? newline + 1 : end_;
  ++next_number_;
  if (stop_ - begin_ > max_bytes_) return above_limit();
  if (nul_ < stop_) {
    return At("contains NUL bytes (UTF-16 or a binary file); expected text in UTF-8");
  }
  if (stop_ > begin_ && buffer_[stop_ - 1] == '\r') --stop_;
  return true;
}

Result<bool> LineReader::Next() {
  begin_ = next_;
  stop_ = next_;
  number_ = next_number_;
  Result<bool> found = FindEnd("a line of more than {} bytes; expected text");
  if (number_ == 1 && text().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
  return found;
}

bool LineReader::TryTake(std::size_t size) {
  // Next() must read the first line, which may begin with a byte order mark.
  if (next_number_ == 1 || size > max_bytes_ || nul_ < next_ + size) return false;
  begin_ = next_;
  stop_ = next_ + size;
  next_ = stop_ + 1;
  if (stop_ > begin_ && buffer_[stop_ - 1] == '\r') --stop_;
  ended_ = true;
  number_ = next_number_++;
  return true;
}

Result<bool> LineReader::Extend() {
  return FindEnd("a row of more than {} bytes; expected a closing quote or a line end");
}

}  // namespace stemtap
