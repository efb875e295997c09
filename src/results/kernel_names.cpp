// SPDX-License-Identifier: Apache-2.0
#include "results/kernel_names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace stemtap {
namespace {

// Longer ones are compared as they stand.
constexpr std::size_t kMaxMangled = 16384;

std::string Demangled(std::string_view name) {
  if (!name.starts_with("_Z") || name.size() > kMaxMangled) return std::string(name);
  const std::string mangled(name);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : mangled;
}

}  // namespace

std::string BaseName(std::string_view name) {
  const std::string text = Demangled(name);
  // The function's name ends at the first parenthesis outside of template arguments that opens
  // parameters, and begins behind the last space or colon outside of them.
  std::size_t begin = 0;
  std::size_t end = std::string::npos;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && c == '(') {
      if (text.compare(i, 21, "(anonymous namespace)") == 0) {
        i += 20;
        continue;
      }
      if (end == std::string::npos) end = i;
      break;
    }
    if (c == '<') {
      if (depth++ == 0 && end == std::string::npos) end = i;
    } else if (c == '>') {
      if (depth > 0) --depth;
    } else if (depth == 0 && (c == ' ' || c == ':')) {
      begin = i + 1;
      end = std::string::npos;
    }
  }
  const std::string base =
      text.substr(begin, end == std::string::npos ? std::string::npos : end - begin);
  return base.empty() ? text : base;
}

bool MaySameKernel(std::string_view a, std::string_view b) {
  return a == b || BaseName(a) == BaseName(b);
}

}  // namespace stemtap
