// SPDX-License-Identifier: Apache-2.0
#include "model/brief_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
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

namespace {

// Identifiers of more bytes are split at underscores. If they were not, a name in a column of 44
// could show only one of them.
constexpr std::size_t kMaxIdentifier = 24;
// Minimum columns of the first part. With fewer, it is not readable.
constexpr std::size_t kMinHead = 6;
// Maximum number of parts that are tried for a name in addition to those that distinguish it. A
// mangled name of 64 KiB has thousands, and hardly any of them fit.
constexpr std::size_t kMaxTried = 64;

bool IsOfWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::size_t ColumnsOf(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// Returns the end of the first `columns` columns, in bytes.
std::size_t EndOf(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && columns-- == 0) break;
  }
  return end;
}

// Part is an identifier or number of a name, or a word of a long identifier.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
  int weakness = 0;
  const std::vector<std::size_t>* holders = nullptr;  // names that have the part, ascending
};

// Returns how little a word informs a reader: 0 for most words, 1 for types and internals of
// libraries, 2 for numbers and single letters.
int WeaknessOf(std::string_view word) {
  static constexpr std::array kWeak = {"AUnaryFunctor",
                                       "Array",
                                       "BFloat16",
                                       "BUnaryFunctor",
                                       "BinaryFunctor",
                                       "Half",
                                       "TensorIterator",
                                       "TensorIteratorBase",
                                       "__half",
                                       "__nv_bfloat16",
                                       "anonymous",
                                       "array",
                                       "at",
                                       "bfloat16_t",
                                       "binary_internal",
                                       "bool",
                                       "c10",
                                       "char",
                                       "const",
                                       "cuda",
                                       "detail",
                                       "double",
                                       "float",
                                       "func_wrapper_t",
                                       "gpu",
                                       "half",
                                       "half_t",
                                       "impl",
                                       "instance",
                                       "int",
                                       "kernel",
                                       "lambda",
                                       "long",
                                       "namespace",
                                       "native",
                                       "nocast",
                                       "operator",
                                       "std",
                                       "tuple",
                                       "uint",
                                       "unnamed",
                                       "unsigned",
                                       "void"};
  if (word.size() == 1 || word.find_first_not_of("0123456789") == std::string_view::npos ||
      (word.back() >= 'a' && word.find_first_not_of("0123456789ul") == std::string_view::npos)) {
    return 2;
  }
  const bool is_weak = std::find(kWeak.begin(), kWeak.end(), word) != kWeak.end() ||
                       word.find("gpu_kernel_impl") != std::string_view::npos ||
                       word.ends_with("OffsetCalculator") || word.ends_with("WithCast") ||
                       word.ends_with("WithoutCast") || word.ends_with("Metadata");
  return is_weak ? 1 : 0;
}

// Identifiers of more than `max_bytes` are split at underscores.
std::vector<Part> PartsOf(std::string_view name, std::size_t max_bytes) {
  std::vector<Part> parts;
  const auto add_words = [&](std::size_t begin, std::size_t end, bool split) {
    while (begin < end) {
      const std::size_t at = split ? std::min(end, name.find('_', begin)) : end;
      if (at > begin) parts.push_back({begin, at, WeaknessOf(name.substr(begin, at - begin))});
      begin = at + 1;
    }
  };
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = at;
    while (end < name.size() && (IsOfWord(name[end]) || name[end] == '_')) ++end;
    add_words(at, end, end - at > max_bytes);
    at = std::max(end, at + 1);
  }
  return parts;
}

// PartTable has the parts of different names, and which names share them.
class PartTable {
 public:
  // For names of `max_columns`.
  PartTable(std::vector<std::string_view> names, std::size_t max_columns)
      : names_(std::move(names)) {
    // The first part and one other fit.
    const std::size_t max_bytes = std::min(kMaxIdentifier, max_columns - kMinHead - 2);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::unordered_map<std::string_view, int> seen;
      for (Part& part : parts_.emplace_back(PartsOf(names_[i], max_bytes))) {
        const std::string_view word = names_[i].substr(part.begin, part.end - part.begin);
        const int repeats = seen[word]++;
        // A reader does not count equal words, so they distinguish names only if nothing else does.
        if (repeats > 0) part.weakness += 3;
        std::vector<std::size_t>& holders = holders_[{word, repeats}];
        holders.push_back(i);
        part.holders = &holders;  // nodes of a map do not move
      }
    }
  }

  std::string Cut(std::size_t i, std::size_t max_columns, std::string_view mark) const {
    const std::vector<Part>& parts = parts_[i];
    const std::size_t head = std::min(parts.empty() ? names_[i].size() : parts[0].end,
                                      EndOf(names_[i], max_columns - ColumnsOf(mark)));
    if (parts.empty()) return std::string(names_[i].substr(0, head)) + std::string(mark);
    Shown shown{{0}, head};
    const auto add = [&](std::size_t part, bool may_cut_head) {
      Shown with = shown;
      with.parts.insert(part);
      const auto fits = [&] { return ColumnsOf(Text(i, with, mark)) <= max_columns; };
      while (may_cut_head && !fits()) {
        const std::size_t columns = ColumnsOf(names_[i].substr(0, with.head_end));
        if (columns <= kMinHead) break;
        with.head_end = EndOf(names_[i], columns - 1);
      }
      if (fits()) shown = std::move(with);
    };
    const auto [needed, others] = Ranked(i);
    for (const std::size_t part : needed) add(part, true);
    for (const std::size_t part : others) add(part, false);
    return Text(i, shown, mark);
  }

 private:
  struct Shown {
    std::set<std::size_t> parts;  // always with the first
    std::size_t head_end = 0;     // bytes of the name up to the end of the first part
  };

  // Returns the parts that distinguish the name from all others, then the other parts. In each, the
  // parts that inform more, and that fewer names have, are first.
  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> Ranked(std::size_t i) const {
    const std::vector<Part>& parts = parts_[i];
    std::vector<std::size_t> order;
    for (std::size_t at = 1; at < parts.size(); ++at) order.push_back(at);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(parts[a].weakness, parts[a].holders->size()) <
             std::pair(parts[b].weakness, parts[b].holders->size());
    });
    std::vector<std::size_t> like = *parts[0].holders;  // names with all of the parts so far
    std::vector<std::size_t> needed;
    std::vector<std::size_t> others;
    for (const std::size_t at : order) {
      std::vector<std::size_t> left;
      const std::vector<std::size_t>& holders = *parts[at].holders;
      if (like.size() > 1) {
        std::set_intersection(like.begin(), like.end(), holders.begin(), holders.end(),
                              std::back_inserter(left));
      }
      if (like.size() > 1 && left.size() < like.size()) {
        like = std::move(left);
        needed.push_back(at);
      } else if (others.size() < kMaxTried) {
        others.push_back(at);
      }
    }
    return {needed, others};
  }

  std::string Text(std::size_t i, const Shown& shown, std::string_view mark) const {
    const std::string_view name = names_[i];
    const std::vector<Part>& parts = parts_[i];
    std::string text(name.substr(0, shown.head_end));
    std::size_t last = 0;
    std::size_t end = shown.head_end;  // of what the text has of the name
    for (auto part = std::next(shown.parts.begin()); part != shown.parts.end(); ++part) {
      const bool follows = *part == last + 1 && end == parts[last].end;
      if (!follows) text += mark;
      const std::size_t from = follows ? end : parts[*part].begin;
      text += name.substr(from, parts[*part].end - from);
      last = *part;
      end = parts[last].end;
    }
    const bool is_whole = last + 1 == parts.size() && end == parts[last].end;
    return text + std::string(is_whole ? name.substr(end) : mark);
  }

  std::vector<std::string_view> names_;
  std::vector<std::vector<Part>> parts_;  // of each name
  std::map<std::pair<std::string_view, int>, std::vector<std::size_t>> holders_;
};

// Returns the indices of each text that occurs more than once.
std::vector<std::vector<std::size_t>> Repeated(std::span<const std::string> texts) {
  std::unordered_map<std::string_view, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < texts.size(); ++i) groups[texts[i]].push_back(i);
  std::vector<std::vector<std::size_t>> repeated;
  for (auto& [text, group] : groups) {
    if (group.size() > 1) repeated.push_back(std::move(group));
  }
  return repeated;
}

// Gives the names of a group the shortest form in which they are different.
void Distinguish(std::span<const std::string_view> names, const std::vector<std::size_t>& group,
                 std::vector<std::string>& briefs) {
  constexpr NameParts kForms[] = {{.scopes = true}, {.parameters = true}, {true, true}};
  for (const NameParts parts : kForms) {
    std::vector<std::string> forms;
    for (const std::size_t i : group) forms.push_back(BriefName(names[i], parts));
    if (!Repeated(forms).empty()) continue;
    for (std::size_t at = 0; at < group.size(); ++at) briefs[group[at]] = std::move(forms[at]);
    return;
  }
  for (const std::size_t i : group) briefs[i] = names[i];
}

// A longer form can be equal to the brief name of another kernel, which then also needs its name.
void KeepRepeatedWhole(std::span<const std::string_view> names, std::vector<std::string>& briefs) {
  for (;;) {
    const std::vector<std::vector<std::size_t>> repeated = Repeated(briefs);
    if (repeated.empty()) return;
    for (const std::vector<std::size_t>& group : repeated) {
      for (const std::size_t i : group) briefs[i] = names[i];
    }
  }
}

}  // namespace

std::vector<std::string> BriefNames(std::span<const std::string_view> names) {
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<std::string_view> distinct;
  for (const std::string_view name : names) {
    if (index.try_emplace(name, distinct.size()).second) distinct.push_back(name);
  }
  std::vector<std::string> briefs;
  for (const std::string_view name : distinct) briefs.push_back(BriefName(name));
  for (const std::vector<std::size_t>& group : Repeated(briefs))
    Distinguish(distinct, group, briefs);
  KeepRepeatedWhole(distinct, briefs);
  std::vector<std::string> shown;
  for (const std::string_view name : names) shown.push_back(briefs[index[name]]);
  return shown;
}

std::vector<std::string> CutNames(std::span<const std::string> names, std::size_t max_columns,
                                  std::string_view mark) {
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<std::string_view> distinct;
  for (const std::string_view name : names) {
    if (index.try_emplace(name, distinct.size()).second) distinct.push_back(name);
  }
  const PartTable table(distinct, max_columns);
  std::vector<std::string> cut;
  std::unordered_map<std::string, int> counts;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    cut.push_back(ColumnsOf(distinct[i]) <= max_columns ? std::string(distinct[i])
                                                        : table.Cut(i, max_columns, mark));
    ++counts[cut.back()];
  }
  int number = 0;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    if (counts[cut[i]] == 1 || cut[i] == distinct[i]) continue;
    const std::string suffix = fmt::format(" ({})", ++number);
    cut[i].resize(EndOf(cut[i], max_columns - suffix.size() - ColumnsOf(mark)));
    cut[i].append(mark).append(suffix);
  }
  std::vector<std::string> shown;
  for (const std::string_view name : names) shown.push_back(cut[index[name]]);
  return shown;
}

std::vector<std::string> NamesForTerminal(std::vector<std::string> names, std::size_t max_columns) {
  for (std::string& name : names) name = EscapeForTerminal(name);
  return CutNames(names, max_columns);
}

}  // namespace stemtap::model
