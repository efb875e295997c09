// SPDX-License-Identifier: Apache-2.0
//
// WideText is a buffer for the UTF-8 of the name in a wide string (UTF-32).
#pragma once

#include "control/range_domain.h"

namespace stemtap::inject {

class WideText {
 public:
  // Returns the name, cut to the maximum. It is valid until the next call. A code that is no
  // character becomes U+FFFD. An empty or null text is "(unnamed)".
  RangeName Convert(const wchar_t* text) noexcept;

 private:
  char text_[kMaxRangeNameBytes + 1];
};

}  // namespace stemtap::inject
