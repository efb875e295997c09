// SPDX-License-Identifier: Apache-2.0
#include "model/brief_name.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "model/graph_name.h"
#include "model/mangled_name.h"

namespace stemtap::model {
namespace {

bool IsOfIdentifier(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// WrittenName shortens a name in C++ syntax.
class WrittenName {
 public:
  WrittenName(std::string_view text, NameParts parts) : left_(text), parts_(parts) {}

  std::string Brief() {
    while (!left_.empty()) {
      if (TakeScope()) continue;
      const char c = left_[0];
      if (c == '(' && open_.empty() && !parts_.parameters) break;
      if (c == '(' || c == '<') Open(c);
      Append(c);
      if (c == ')' || c == '>') Close(c);
      if (open_.empty() && !has_parameters_ && c == ' ') begin_ = brief_.size();
    }
    return has_parameters_ || !left_.empty() ? brief_.substr(begin_) : brief_;
  }

 private:
  struct Bracket {
    char open;
    std::size_t at;  // in `brief_`
  };

  void Append(char c) {
    brief_ += c;
    if (!IsOfIdentifier(c)) word_ = brief_.size();
    left_.remove_prefix(1);
  }
  void Open(char c) {
    has_parameters_ = has_parameters_ || (c == '(' && open_.empty());
    open_.push_back({c, brief_.size()});
  }
  // Removes the parameters of a function that contains what follows.
  void Close(char c) {
    if (open_.empty() || open_.back().open != (c == ')' ? '(' : '<')) return;
    const std::size_t at = open_.back().at;
    open_.pop_back();
    constexpr std::string_view kConst = " const";
    const std::string_view after = left_.starts_with(kConst) ? left_.substr(kConst.size()) : left_;
    const std::string_view before = std::string_view(brief_).substr(0, at);
    if (c != ')' || !after.starts_with("::") || before.ends_with("operator") ||
        before.ends_with("{lambda") || before.empty() ||
        !(IsOfIdentifier(before.back()) || before.back() == '>' || before.back() == ')')) {
      return;
    }
    left_ = after;
    brief_.resize(at);
    constexpr std::string_view kCall = "}::operator()";
    if (brief_.ends_with(kCall)) brief_.resize(at - kCall.size() + 1);
    word_ = brief_.size();
  }

  // Takes a scope and its ::, or the :: after a scope that was appended.
  bool TakeScope() {
    for (const std::string_view name : {"(anonymous namespace)::", "<unnamed>::"}) {
      if (!left_.starts_with(name)) continue;
      if (parts_.scopes) brief_ += name;
      word_ = brief_.size();
      left_.remove_prefix(name.size());
      return true;
    }
    const bool has_scope = word_ < brief_.size() || brief_.empty();
    if (parts_.scopes || !left_.starts_with("::") || !has_scope) return false;
    if (left_.starts_with("::*")) return false;  // a pointer to a member
    brief_.resize(word_);
    left_.remove_prefix(2);
    return true;
  }

  std::string_view left_;
  const NameParts parts_;
  std::string brief_;
  std::size_t word_ = 0;   // start of the identifier at the end of `brief_`
  std::size_t begin_ = 0;  // end of the return type
  std::vector<Bracket> open_;
  bool has_parameters_ = false;  // of the kernel, not of a function in its template arguments
};

// Removes what nvcc adds before the mangled name of a static kernel in relocatable device code:
// __nv_static_, the size of an identifier of the file, _, the identifier and _.
std::string_view WithoutFile(std::string_view name) {
  constexpr std::string_view kPrefix = "__nv_static_";
  if (!name.starts_with(kPrefix)) return name;
  const std::size_t at = name.find("__Z", kPrefix.size());
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

}  // namespace

std::string BriefName(std::string_view name, NameParts parts) {
  if (IsGraphName(name)) return BriefGraphName(name);
  const std::string_view symbol = WithoutFile(name);
  std::string brief;
  if (!symbol.starts_with("_Z")) {
    brief = WrittenName(name, parts).Brief();
  } else if (const std::optional<ParsedName> parsed = ParseMangledName(symbol, parts.parameters)) {
    brief = NameText(*parsed, parts);
  }
  return brief.empty() ? std::string(name) : brief;
}

}  // namespace stemtap::model
