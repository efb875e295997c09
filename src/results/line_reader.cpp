// SPDX-License-Identifier: Apache-2.0
#include "results/line_reader.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/text.h"

namespace stemtap {
namespace {

constexpr std::size_t kMaxLine = std::size_t{4} * 1024 * 1024;

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), name_(EscapeForTerminal(source_->name())), buffer_(kReadBytes) {}

std::string LineReader::Where() const {
  return fmt::format("{}:{}", name_, number_);
}

Error LineReader::At(const std::string& what) const {
  return {fmt::format("{}: {}", Where(), what)};
}

Result<bool> LineReader::Next() {
  std::size_t searched = begin_;
  const char* line_end = nullptr;
  for (;;) {
    if (searched < end_) {
      line_end =
          static_cast<const char*>(std::memchr(buffer_.data() + searched, '\n', end_ - searched));
    }
    if (line_end != nullptr || at_end_) break;
    searched = end_ - begin_;
    if (searched > kMaxLine) {
      ++number_;
      return At("a line of more than 4 MiB, expected the text output of a simulator or profiler");
    }
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
    const Result<std::size_t> read = source_->Read(buffer_.data() + end_, buffer_.size() - end_);
    if (!read.ok()) return read.error();
    end_ += read.value();
    at_end_ = read.value() == 0;
  }
  if (begin_ == end_) return false;
  const std::size_t stop =
      line_end == nullptr ? end_ : static_cast<std::size_t>(line_end - buffer_.data());
  line_ = {buffer_.data() + begin_, stop - begin_};
  begin_ = line_end == nullptr ? end_ : stop + 1;
  ++number_;
  if (number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.remove_prefix(3);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  if (line_.find('\0') != std::string_view::npos) {
    return At("holds NUL bytes (UTF-16 or a binary file), expected text in UTF-8");
  }
  return true;
}

}  // namespace stemtap
