// SPDX-License-Identifier: Apache-2.0
#include "formats/importers/json_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace stemtap::formats {
namespace {

// Small enough that a run and its parsed form stay in the cache.
constexpr std::size_t kWindowBytes = std::size_t{256} * 1024;

// The byte before a value, the value, and the byte after it.
constexpr std::size_t kMaxWindowBytes = JsonStream::kMaxValueBytes + 2;

// The role of a byte outside strings in the search for the end of a value.
enum class Mark : std::uint8_t { kNone, kQuote, kOpen, kClose, kComma };

constexpr std::array<Mark, 256> kMarks = [] {
  std::array<Mark, 256> marks{};
  marks['"'] = Mark::kQuote;
  marks['{'] = marks['['] = Mark::kOpen;
  marks['}'] = marks[']'] = Mark::kClose;
  marks[','] = Mark::kComma;
  return marks;
}();

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsSpace(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Returns the position after the quote that closes the string whose content starts at `first`, or
// null.
char* FindStringEnd(char* first, char* end) {
  for (char* p = first;; ++p) {
    p = static_cast<char*>(std::memchr(p, '"', static_cast<std::size_t>(end - p)));
    if (p == nullptr) return nullptr;
    const char* slash = p;
    while (slash > first && slash[-1] == '\\') --slash;
    if ((p - slash) % 2 == 0) return p + 1;
  }
}

// Returns the comma or closing bracket after the value that starts at `p`, or null.
char* FindValueEnd(char* p, char* end) {
  std::size_t depth = 0;
  while (p != end) {
    switch (kMarks[static_cast<unsigned char>(*p)]) {
      case Mark::kNone:
        break;
      case Mark::kQuote:
        p = FindStringEnd(p + 1, end);
        if (p == nullptr) return nullptr;
        continue;
      case Mark::kOpen:
        ++depth;
        break;
      case Mark::kClose:
        if (depth == 0) return p;
        --depth;
        break;
      case Mark::kComma:
        if (depth == 0) return p;
        break;
    }
    ++p;
  }
  return nullptr;
}

// Returns what is wrong with a value that is not JSON, or nothing if no common mistake is found.
std::string CommonMistake(std::string_view text) {
  char before = '[';  // the last byte outside of strings that is not white space
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (IsSpace(c)) {
      ++i;
      continue;
    }
    const bool opens = before == '[' || before == '{' || before == ',';
    if ((c == ',' && opens) || ((c == ']' || c == '}') && before == ',')) return "a stray comma";
    before = c;
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
      continue;
    }
    const std::size_t word = i;
    while (i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0) ++i;
    if (i == word) {
      if (c == '\'') return "a single quote outside of a string";
      ++i;
      continue;
    }
    const std::string_view found = text.substr(word, i - word);
    const bool in_number =
        word > 0 &&
        (std::isdigit(static_cast<unsigned char>(text[word - 1])) != 0 || text[word - 1] == '.');
    if (found != "true" && found != "false" && found != "null" && !in_number) {
      return fmt::format("the word {}", ShownCell(found));
    }
    before = 'a';
  }
  return before == ',' ? "a stray comma" : "";
}

}  // namespace

JsonStream::JsonStream(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)),
      buffer_(kWindowBytes + simdjson::SIMDJSON_PADDING),
      window_bytes_(kWindowBytes) {}

Error JsonStream::At(std::uint64_t offset, std::string_view what) const {
  return Error{fmt::format("{}: byte {}: {}", name(), offset, what)};
}

// Moves the unconsumed bytes to the front and reads until the window is full.
Status JsonStream::Fill() {
  const std::size_t taken = begin_ - 1;
  if (end_ - taken < kWindowBytes) window_bytes_ = kWindowBytes;  // it was grown for a large value
  std::memmove(buffer_.data(), buffer_.data() + taken, end_ - taken);
  base_ += taken;
  begin_ -= taken;
  end_ -= taken;
  while (!at_end_ && end_ < window_bytes_) {
    const std::size_t count =
        STEMTAP_TRY(source_->Read(buffer_.data() + end_, window_bytes_ - end_));
    at_end_ = count == 0;
    end_ += count;
  }
  return Success{};
}

// Reads more input because `inside` does not end within the window.
Status JsonStream::NeedMore(std::string_view inside) {
  if (at_end_) {
    return At(base_ + end_,
              fmt::format("the content ends inside {} that begins at byte {}; expected its end",
                          inside, base_ + begin_));
  }
  if (begin_ == 1 && end_ == window_bytes_) {
    if (window_bytes_ == kMaxWindowBytes) {
      return Here(fmt::format("{} of more than {} bytes; expected at most that many", inside,
                              kMaxValueBytes));
    }
    window_bytes_ = std::min(2 * window_bytes_, kMaxWindowBytes);
    if (buffer_.size() < window_bytes_ + simdjson::SIMDJSON_PADDING) {
      buffer_.resize(window_bytes_ + simdjson::SIMDJSON_PADDING);
    }
  }
  return Fill();
}

Status JsonStream::TakeByteOrderMark() {
  STEMTAP_TRY(Fill());
  const std::string_view window(buffer_.data() + begin_, end_ - begin_);
  if (window.starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
  return Success{};
}

Result<int> JsonStream::Peek() {
  for (;;) {
    while (begin_ != end_ && IsSpace(buffer_[begin_])) ++begin_;
    if (begin_ != end_) return static_cast<unsigned char>(buffer_[begin_]);
    if (at_end_) return kEnd;
    STEMTAP_TRY(Fill());
  }
}

Result<std::string> JsonStream::TakeKey() {
  const int quote = STEMTAP_TRY(Peek());
  if (quote == kEnd) return Here("the content ends inside an object; expected a key");
  if (quote != '"') return Here("not a string; expected a key of the object");
  char* end = nullptr;
  for (;;) {
    end = FindStringEnd(buffer_.data() + begin_ + 1, buffer_.data() + end_);
    if (end != nullptr) break;
    STEMTAP_TRY(NeedMore("a key"));
  }
  const char* const first = buffer_.data() + begin_;
  std::string_view key;
  const auto code =
      parser_.parse(first, static_cast<std::size_t>(end - first), false).get_string().get(key);
  if (code != simdjson::SUCCESS) return Refuse(first, end, code);
  std::string result(key);
  begin_ += static_cast<std::size_t>(end - first);
  if (STEMTAP_TRY(Peek()) != ':') return Here("no colon after a key; expected ':'");
  Take();
  return result;
}

Result<const JsonStream::Run*> JsonStream::TakeMember() {
  return TakeRun('}', false);
}

Result<const JsonStream::Run*> JsonStream::TakeElements() {
  return TakeRun(']', true);
}

Result<const JsonStream::Run*> JsonStream::TakeRun(char close, bool many) {
  // After each growth of the window, the search for the end of a value restarts at its beginning.
  // This is cheap because the window doubles.
  run_.texts.clear();
  char* end = nullptr;  // after the last value found
  for (;;) {
    char* const window_end = buffer_.data() + end_;
    char* first = buffer_.data() + begin_;
    const char* const enough = first + kWindowBytes;  // also if the window has grown
    for (;;) {
      char* const next = FindValueEnd(first, window_end);
      if (next == nullptr) break;
      end = next;
      run_.texts.emplace_back(first, static_cast<std::size_t>(end - first));
      first = end + 1;
      if (!many || *end != ',' || first >= enough) break;
    }
    if (end != nullptr) break;
    STEMTAP_TRY(NeedMore("a value"));
  }
  const char stop = *end;
  run_.offset = base_ + begin_;
  run_.last = stop != ',';
  STEMTAP_TRY(Parse(buffer_.data() + begin_, end));
  if (run_.last && stop != close) {
    return At(base_ + static_cast<std::uint64_t>(end - buffer_.data()),
              fmt::format("a wrong bracket '{}'; expected '{}'", stop, close));
  }
  begin_ = static_cast<std::size_t>(end + 1 - buffer_.data());
  return &run_;
}

// Parses the values in [first, end) as an array.
Status JsonStream::Parse(char* first, char* end) {
  const auto whole = [&](char* from, char* to, std::size_t count) {
    const char before = std::exchange(from[-1], '[');
    const char next = std::exchange(*to, ']');
    auto code = parser_.parse(from - 1, static_cast<std::size_t>(to - from) + 2, false)
                    .get_array()
                    .get(run_.values);
    // An element that is only white space leaves a valid but shorter array.
    if (code == simdjson::SUCCESS && run_.values.size() != count) code = simdjson::TAPE_ERROR;
    from[-1] = before;
    *to = next;
    return code;
  };
  const simdjson::error_code code = whole(first, end, run_.texts.size());
  if (code == simdjson::SUCCESS) return Success{};
  for (const std::string_view text : run_.texts) {  // find the value that is not valid
    char* const from = first + (text.data() - run_.texts[0].data());
    const simdjson::error_code one = whole(from, from + text.size(), 1);
    if (one != simdjson::SUCCESS) return Refuse(text.data(), text.data() + text.size(), one);
  }
  return Refuse(first, end, code);
}

Error JsonStream::Refuse(const char* first, const char* end, simdjson::error_code code) {
  while (first != end && IsSpace(*first)) ++first;
  const std::uint64_t offset = base_ + static_cast<std::uint64_t>(first - buffer_.data());
  const std::string mistake =
      CommonMistake({first, static_cast<std::size_t>(std::max<std::ptrdiff_t>(end - first, 0))});
  const auto contains = [&](std::string_view what) {
    return At(offset, fmt::format("the value that begins here contains {}", what));
  };
  switch (code) {
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY:
      return At(offset, "not enough memory for the value that begins here");
    case simdjson::DEPTH_ERROR:
      return At(offset, "the value that begins here nests too deep; expected at most 1000 levels");
    case simdjson::STRING_ERROR:
      return contains("an invalid escape in a string; expected one of JSON, such as \\\\ or \\n");
    case simdjson::NUMBER_ERROR:
      if (!mistake.empty()) return contains(mistake + "; expected a number");
      return At(offset,
                "the value that begins here contains a malformed number, or one that is too large; "
                "expected 64 bits or a double");
    case simdjson::UTF8_ERROR:
      return At(offset, "the value that begins here contains invalid UTF-8; expected JSON");
    case simdjson::UNESCAPED_CHARS:
      return At(offset,
                "the value that begins here contains a control character inside a string; expected "
                "an escape");
    default:
      if (first == end) return At(offset, "a stray comma; expected a JSON value before it");
      if (!mistake.empty()) return contains(mistake + ", which is not JSON; expected a JSON value");
      return At(offset, "invalid; expected a JSON value");
  }
}

}  // namespace stemtap::formats
