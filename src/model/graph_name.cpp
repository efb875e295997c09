// SPDX-License-Identifier: Apache-2.0
#include "model/graph_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "model/brief_name.h"

namespace stemtap::model {
namespace {

constexpr std::size_t kHashDigits = 16;
// Digits of the hash in tables. Two of 100 graphs share them with a probability of 1e-6; then
// BriefNames keeps the whole names.
constexpr std::size_t kBriefHashDigits = 8;

// Removes `prefix` from `text`. Returns false if `text` does not begin with it.
bool Take(std::string_view prefix, std::string_view& text) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes and returns the characters of `set` at the beginning of `text`.
std::string_view TakeAll(std::string_view set, std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of(set), text.size());
  const std::string_view taken = text.substr(0, count);
  text.remove_prefix(count);
  return taken;
}

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Returns the function of a mangled name whose end is missing: the last identifier before the
// template arguments. Returns an empty text if there is none.
std::string_view FunctionOfCut(std::string_view mangled) {
  std::string_view function;
  if (!Take("_Z", mangled)) return function;
  const bool is_nested = Take("N", mangled);
  do {
    std::size_t length = 0;
    for (const char digit : TakeAll(kDigits, mangled)) {
      length = std::min(10 * length + static_cast<std::size_t>(digit - '0'), mangled.size() + 1);
    }
    if (length == 0 || length > mangled.size()) break;
    function = mangled.substr(0, length);
    mangled.remove_prefix(length);
  } while (is_nested);
  return function;
}

// Returns the function of a kernel, without template arguments: the hash distinguishes graphs.
std::string BriefKernel(std::string_view kernel) {
  constexpr std::string_view kCut = "...";
  if (kernel.ends_with(kCut)) {
    kernel.remove_suffix(kCut.size());
    if (const std::string_view function = FunctionOfCut(kernel); !function.empty()) {
      return std::string(function);
    }
  }
  std::string brief = BriefName(kernel);
  const std::size_t arguments = brief.find('<');
  if (arguments != std::string::npos && arguments != 0) brief.resize(arguments);
  return brief;
}

}  // namespace

std::optional<GraphName> ParseGraphName(std::string_view name) {
  GraphName parts;
  std::string_view rest = name;
  if (!Take("graph of ", rest)) return {};
  parts.kernels = TakeAll(kDigits, rest);
  if (parts.kernels.empty() || !Take(" kernel", rest)) return {};
  Take("s", rest);
  if (rest.size() < kHashDigits + 2) return {};
  parts.hash = rest.substr(rest.size() - kHashDigits);
  rest.remove_suffix(kHashDigits);
  if (parts.hash.find_first_not_of(kHexDigits) != std::string_view::npos) return {};
  if (rest == " #") return parts;
  if (!rest.ends_with(" #") || !Take(", ", rest)) return {};
  rest.remove_suffix(2);
  parts.count = TakeAll(kDigits, rest);
  if (parts.count.empty() || !Take(" x ", rest)) return {};
  parts.kernel = rest;
  return parts;
}

bool IsGraphName(std::string_view name) {
  if (ParseGraphName(name)) return true;
  std::string_view rest = name;
  return Take("graph ", rest) && !TakeAll(kDigits, rest).empty() &&
         (rest.empty() || rest.starts_with(" of process "));
}

std::string BriefGraphName(std::string_view name) {
  const std::optional<GraphName> parts = ParseGraphName(name);
  if (!parts) return std::string(name);
  const std::string_view hash = parts->hash.substr(0, kBriefHashDigits);
  if (parts->count.empty()) return fmt::format("graph of {} #{}", parts->kernels, hash);
  return fmt::format("graph of {}: {} x {} #{}", parts->kernels, parts->count,
                     BriefKernel(parts->kernel), hash);
}

}  // namespace stemtap::model
