// SPDX-License-Identifier: Apache-2.0
#include "control/step_range.h"

#include <string.h>

namespace stemtap::inject {
namespace {

// Returns whether nothing follows in `name` from `at`, or '#' and digits.
bool IsNumber(const RangeName& name, std::uint32_t at) noexcept {
  if (at == name.bytes) return true;
  if (name.text[at++] != '#' || at == name.bytes) return false;
  for (; at < name.bytes; ++at) {
    if (name.text[at] < '0' || name.text[at] > '9') return false;
  }
  return true;
}

}  // namespace

void StepRange::Set(const char* name) noexcept {
  if (name == nullptr || *name == 0) return;
  const RangeName cut = NameOf(name);
  ::memcpy(name_, cut.text, cut.bytes);
  // Release: publishes the name; pairs with the acquire in Matches.
  bytes_.store(cut.bytes, std::memory_order_release);
}

bool StepRange::Compare(std::uint32_t bytes, const RangeDomain& domain,
                        RangeName& name) const noexcept {
  const std::uint32_t prefix = domain.prefix_bytes();
  if (bytes <= prefix || bytes - prefix > name.bytes) return false;
  if (prefix != 0 &&
      (name_[domain.name_bytes] != ':' || ::memcmp(name_, domain.name, domain.name_bytes) != 0)) {
    return false;
  }
  const std::uint32_t rest = bytes - prefix;
  if (::memcmp(name_ + prefix, name.text, rest) != 0 || !IsNumber(name, rest)) return false;
  name.bytes = rest;
  return true;
}

}  // namespace stemtap::inject
