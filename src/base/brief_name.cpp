// SPDX-License-Identifier: Apache-2.0
#include "base/brief_name.h"

#include <algorithm>
#include <cstddef>

namespace stemtap {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsOfIdentifier(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Of a name as it is written in C++.
std::string BriefOfWritten(std::string_view text) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  std::string brief;
  std::size_t word = 0;   // where the identifier at the end of `brief` begins
  std::size_t begin = 0;  // behind the return type
  int depth = 0;          // of template arguments
  while (!text.empty()) {
    const char c = text[0];
    if (text.starts_with(kAnonymous)) {
      text.remove_prefix(kAnonymous.size());
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

// A type that the letter `c` of a mangled name stands for; null: none.
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

// Walks through a mangled name (the Itanium C++ ABI) without knowing all of its grammar: what it takes for
// something else costs a word too many or too few.
class MangledName {
 public:
  explicit MangledName(std::string_view text) : left_(text) {}

  std::string Brief() {
    Take(2);  // _Z
    std::string brief;
    std::string_view word;
    // The function: an identifier, or the last of a row of them.
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
        // A namespace is followed by what is in it.
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

  // Its length, and as many characters.
  bool TakeIdentifier(std::string_view& word) {
    const std::size_t digits = Digits(0);
    if (digits == 0 || digits > 5 || left_[0] == '0') return false;
    // The number of a lambda, the value of an enumerator, the length of an array.
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
    before_ = 0;  // whatever the identifier ends in
    return true;
  }
  // A literal: its type, n for minus, its digits, and an E.
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
    // A lambda; a call of it; a type of two letters.
    const bool two = left_.starts_with("Ul") || left_.starts_with("cl") || c == 'D';
    if (c == 'S' || c == 'T') {  // what was there before: S_ S0_ ... T_ T0_ ...; or std: St
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

}  // namespace stemtap
