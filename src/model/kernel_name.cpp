// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_name.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "model/graph_name.h"
#include "model/name_text.h"

namespace stemtap::model {
namespace {

// Function is the position of the function in a demangled name.
struct Function {
  std::size_t begin = 0;        // after the return type
  std::size_t unqualified = 0;  // after namespaces and classes
  std::size_t name_end = 0;     // start of the template arguments
  std::size_t end = 0;          // start of the parameters
};

// Returns the length of a part of a name at the beginning of `text` that contains brackets or
// spaces but is neither template arguments nor parameters, or 0. `before` is the text before it.
std::size_t BracketedPart(std::string_view text, std::string_view before) {
  for (const std::string_view part : {"(anonymous namespace)", "<unnamed>"}) {
    if (text.starts_with(part)) return part.size();
  }
  if (text.starts_with("()") && before.ends_with("operator")) return 2;
  if (!text.starts_with('{')) return 0;  // else {lambda(int)#1}
  const std::size_t close = text.find('}');
  return close == std::string_view::npos ? 0 : close + 1;
}

Function FindFunction(std::string_view text) {
  // Outside template arguments, the name ends at the first parenthesis that opens parameters and
  // begins after the last space or colon.
  Function function;
  std::size_t end = std::string_view::npos;
  int depth = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0) {
      const std::size_t part = BracketedPart(text.substr(i), text.substr(0, i));
      if (part > 0) {
        i += part - 1;
        continue;
      }
      if (c == '(') break;
    }
    if (c == '<') {
      if (depth++ == 0 && end == std::string_view::npos) end = i;
    } else if (c == '>') {
      if (depth > 0) --depth;
    } else if (depth == 0 && (c == ' ' || c == ':')) {
      function.unqualified = i + 1;
      if (c == ' ') function.begin = i + 1;
      end = std::string_view::npos;
    }
  }
  function.end = std::min(i, text.size());
  function.name_end = std::min(end, function.end);
  return function;
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the length of a cast such as "(int)" at the beginning of `text` if a number follows it,
// else 0.
std::size_t CastLength(std::string_view text) {
  const std::size_t close = text.find_first_of("(<,)", 1);
  if (!text.starts_with('(') || close == std::string_view::npos || text[close] != ')') return 0;
  std::string_view rest = text.substr(close + 1);
  if (rest.starts_with('-')) rest.remove_prefix(1);
  return !rest.empty() && IsDigit(rest.front()) ? close + 1 : 0;
}

}  // namespace

std::string Demangled(std::string_view name) {
  std::string text;
  if (const std::optional<ParsedName> parsed = ParseMangledName(name, true)) {
    text = NameText(*parsed, {.everything = true});
  }
  return text.empty() ? std::string(name) : text;
}

std::string BaseName(std::string_view name) {
  const std::string text = Demangled(name);
  const Function function = FindFunction(text);
  const std::string base =
      text.substr(function.unqualified, function.name_end - function.unqualified);
  return base.empty() ? text : base;
}

std::string FunctionName(std::string_view name) {
  if (IsGraphName(name)) return std::string(name);
  std::string text = Demangled(name);
  if (text.find_first_of("(<") == std::string::npos) return text;
  const Function function = FindFunction(text);
  const std::string_view whole =
      std::string_view(text).substr(function.begin, function.end - function.begin);
  std::string plain;
  int depth = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (depth == 0) {
      const std::size_t part = BracketedPart(whole.substr(i), whole.substr(0, i));
      plain += whole.substr(i, part);
      i += part;
      if (i == whole.size()) break;
    }
    if (whole[i] == '<') ++depth;
    if (depth == 0) plain += whole[i];
    if (whole[i] == '>' && depth > 0) --depth;
  }
  return plain.empty() ? text : plain;
}

std::string Spelling(std::string_view name) {
  const std::string text = Demangled(name);
  const Function function = FindFunction(text);
  std::string_view rest =
      std::string_view(text).substr(function.begin, function.end - function.begin);
  if (rest.empty()) rest = text;
  std::string spelling;
  while (!rest.empty()) {
    if (const std::size_t cast = CastLength(rest); cast > 0) {
      rest.remove_prefix(cast);
      continue;
    }
    if (rest.front() != ' ') spelling += rest.front();
    rest.remove_prefix(1);
  }
  return spelling;
}

bool MaySameKernel(std::string_view a, std::string_view b) {
  return a == b || BaseName(a) == BaseName(b);
}

}  // namespace stemtap::model
