// SPDX-License-Identifier: Apache-2.0
#include "nvtx/wide_text.h"

namespace stemtap::inject {

RangeName WideText::Convert(const wchar_t* text) noexcept {
  std::uint32_t bytes = 0;
  for (; text != nullptr && *text != 0; ++text) {
    auto code = static_cast<std::uint32_t>(*text);
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
    std::uint32_t following = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    if (bytes + following + 1 > kMaxRangeNameBytes) break;
    // The first byte of two, three or four begins with as many ones.
    const std::uint32_t first = following == 0 ? 0 : 0xF00u >> (following + 1) & 0xFF;
    text_[bytes++] = static_cast<char>(first | code >> (6 * following));
    while (following-- != 0) {
      text_[bytes++] = static_cast<char>(0x80 | (code >> (6 * following) & 0x3F));
    }
  }
  text_[bytes] = 0;
  return NameOf(text_);
}

}  // namespace stemtap::inject
