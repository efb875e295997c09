// SPDX-License-Identifier: Apache-2.0
#include "model/brief_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace stemtap::model {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsOfIdentifier(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Shortens a name in C++ syntax.
std::string BriefOfWritten(std::string_view text) {
  constexpr std::string_view kAnonymous[] = {"(anonymous namespace)::", "<unnamed>::"};
  std::string brief;
  std::size_t word = 0;   // start of the identifier at the end of `brief`
  std::size_t begin = 0;  // end of the return type
  int depth = 0;          // nesting of template arguments
  while (!text.empty()) {
    const char c = text[0];
    const auto* const anonymous =
        std::find_if(std::begin(kAnonymous), std::end(kAnonymous),
                     [&](std::string_view name) { return text.starts_with(name); });
    if (anonymous != std::end(kAnonymous)) {
      text.remove_prefix(anonymous->size());
      continue;
    }
    if (text.starts_with("::") && (word < brief.size() || brief.empty())) {
      brief.resize(word);
      text.remove_prefix(2);
      continue;
    }
    if (depth == 0 && c == '(') return brief.substr(begin);
    if (c == '<') ++depth;
    if (c == '>' && depth > 0) --depth;
    brief += c;
    if (!IsOfIdentifier(c)) word = brief.size();
    if (depth == 0 && c == ' ') begin = brief.size();
    text.remove_prefix(1);
  }
  return brief;
}

// Returns the type that the letter `c` encodes in a mangled name, or nullptr.
const char* TypeOf(char c) {
  switch (c) {
    case 'b':
      return "bool";
    case 'a':
    case 'c':
      return "char";
    case 'h':
      return "uchar";
    case 's':
      return "short";
    case 't':
      return "ushort";
    case 'i':
      return "int";
    case 'j':
      return "uint";
    case 'l':
    case 'x':
      return "long";
    case 'm':
    case 'y':
      return "ulong";
    case 'f':
      return "float";
    case 'd':
      return "double";
    default:
      return nullptr;
  }
}

// MangledName scans a mangled name (Itanium C++ ABI). It handles only part of the grammar; a
// misinterpreted production adds or omits a word of the brief name.
class MangledName {
 public:
  explicit MangledName(std::string_view text) : left_(text) {}

  std::string Brief() {
    Take(2);  // _Z
    std::string brief;
    std::string_view word;
    // The function is an identifier, or the last identifier of a nested name.
    const bool row = left_.starts_with('N');
    while (!left_.empty() && (brief.empty() || row)) {
      if (TakeIdentifier(word)) {
        brief = word;
      } else if (brief.empty() || left_[0] == 'S') {
        TakeOther();
      } else {
        break;
      }
    }
    if (!left_.starts_with('I')) return brief;  // no template
    std::string arguments;
    const auto add = [&](std::string_view argument) {
      if (!arguments.empty()) arguments += ' ';
      arguments += argument;
    };
    depth_ = 0;
    do {
      if (TakeIdentifier(word)) {
        // An identifier that is followed by another one is a namespace or class; skip it.
        if (left_.empty() || !IsDigit(left_[0])) add(word);
      } else if (TakeNumber(word)) {
        add(word);
        if (word[0] == 'n') arguments[arguments.size() - word.size()] = '-';
      } else if (const char* type = TypeOf(left_[0]); type != nullptr && !left_.starts_with("cl")) {
        add(type);
        Take(1);
      } else {
        TakeOther();
      }
    } while (!left_.empty() && depth_ > 0);
    return arguments.empty() ? brief : brief + '<' + arguments + '>';
  }

 private:
  void Take(std::size_t count) {
    count = std::min(count, left_.size());
    if (count > 0) before_ = left_[count - 1];
    left_.remove_prefix(count);
  }
  std::size_t Digits(std::size_t at) const {
    std::size_t count = 0;
    while (at + count < left_.size() && IsDigit(left_[at + count])) ++count;
    return count;
  }

  // An identifier is its length, followed by that many characters.
  bool TakeIdentifier(std::string_view& word) {
    const std::size_t digits = Digits(0);
    if (digits == 0 || digits > 5 || left_[0] == '0') return false;
    // These digits are the number of a lambda, the value of an enumerator or the length of an
    // array.
    const char next = digits < left_.size() ? left_[digits] : '_';
    if (IsDigit(next) || (before_ == 'E' && (next == '_' || next == 'E')) ||
        (before_ == 'A' && next == '_')) {
      return false;
    }
    std::size_t length = 0;
    for (const char digit : left_.substr(0, digits)) {
      length = length * 10 + static_cast<std::size_t>(digit - '0');
    }
    if (length > left_.size() - digits) return false;
    word = left_.substr(digits, length);
    Take(digits + length);
    before_ = 0;  // the last character of an identifier has no meaning
    return true;
  }
  // A literal is L, its type, n if negative, its digits and E.
  bool TakeNumber(std::string_view& word) {
    if (left_.size() < 3 || left_[0] != 'L' || left_[1] < 'a' || left_[1] > 'z') return false;
    const std::size_t at = left_[2] == 'n' ? 3 : 2;
    const std::size_t digits = Digits(at);
    if (digits == 0 || at + digits >= left_.size() || left_[at + digits] != 'E') return false;
    word = left_.substr(2, at - 2 + digits);
    Take(at + digits + 1);
    return true;
  }
  void TakeOther() {
    const char c = left_[0];
    // Codes of two letters: a lambda, a call expression, a two-letter type.
    const bool two = left_.starts_with("Ul") || left_.starts_with("cl") || c == 'D';
    if (c == 'S' || c == 'T') {  // substitutions S_ S0_ ... T_ T0_ ..., or St for std
      const std::size_t end = left_.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 1);
      Take(end == std::string_view::npos ? 1 : end + 1);
      return;
    }
    if (c == 'I' || c == 'N' || c == 'J' || c == 'L' || c == 'X' || c == 'F' || c == 'Z' ||
        c == 'U') {
      ++depth_;
    } else if (c == 'E') {
      --depth_;
    }
    Take(two ? 2 : 1);
  }

  std::string_view left_;
  char before_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string BriefName(std::string_view name) {
  const std::string brief =
      name.starts_with("_Z") ? MangledName(name).Brief() : BriefOfWritten(name);
  return brief.empty() ? std::string(name) : brief;
}

}  // namespace stemtap::model
