// SPDX-License-Identifier: Apache-2.0
//
// ParsedName is the graph of the parts of a name that a C++ compiler mangled (Itanium C++ ABI):
//
//   _ZN2at4fillILi4ENS_4HalfEEEvT0_  (void at::fill<4, at::Half>(at::Half))
//   kTemplate(kScoped(at, fill), 4, kScoped(at, Half))
//
// A substitution (S_ above) repeats a part of the name. It is the node of that part, so parsing
// takes O(length of the name) time and memory, although the C++ form of a few hundred bytes can
// have gigabytes. name_text.h writes a parsed name.
//
// THREADS: none; the functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace stemtap::model {

using NameId = std::uint32_t;
inline constexpr NameId kNoName = 0;  // the node of a part that a name does not have

struct NameNode {
  enum class Kind : std::uint8_t {
    kText,       // text
    kScoped,     // first::second
    kTemplate,   // first<list>
    kLocal,      // first::second, where first is a function
    kLambda,     // {lambda(list)#number}
    kUnnamed,    // {unnamed type#number}
    kParameter,  // template argument `number` of the function, counted from 0
    kPack,       // list
    kExpansion,  // first, once for each element of the pack that it contains
    kEncoding,   // function `first` with the types `list` and qualifiers `text`, such as "K"
    kSuffixed,   // first text
    kPrefixed,   // text first
    kSpecial,    // text first; a constructor, destructor or conversion, which has no return type
    kPointer,    // first text, where text is for example "&"
    kMember,     // second first::*
    kFunction,   // first (list)
    kArray,      // first [second]
    kUnary,      // text(first)
    kBinary,     // (first)text(second)
    kCall,       // first(list)
  };

  Kind kind = Kind::kText;
  NameId first = kNoName;
  NameId second = kNoName;
  std::uint32_t number = 0;
  std::uint32_t list_begin = 0;  // in ParsedName::lists
  std::uint32_t list_size = 0;
  std::string_view text = {};  // of the mangled name, or static
};

struct ParsedName {
  std::vector<NameNode> nodes = {NameNode{}};  // of kNoName
  std::vector<NameId> lists;
  NameId name = kNoName;  // kEncoding if the types were parsed

  std::vector<NameId> ListOf(NameId id) const {
    const auto begin = lists.begin() + nodes[id].list_begin;
    return {begin, begin + nodes[id].list_size};
  }
};

// Limits of a mangled name. The longest name of a kernel in PyTorch 2.15 has 2,301 bytes.
inline constexpr std::size_t kMaxMangledName = 65'536;  // bytes; limits the memory of a parsed name
inline constexpr std::size_t kMaxNameLevels = 192;      // limits the stack to about 200 KB

// Returns the name of the function in `mangled`, and its types if `with_types`. Returns nullopt if
// `mangled` is not the name of a function, is beyond a limit, or contains a production that names
// of kernels do not have. The result refers to `mangled`.
std::optional<ParsedName> ParseMangledName(std::string_view mangled, bool with_types);

}  // namespace stemtap::model
