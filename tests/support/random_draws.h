// SPDX-License-Identifier: Apache-2.0
//
// Draws from distributions that tests share, from the project's own generator.
#pragma once

#include <cmath>

#include "base/rng.h"

namespace stemtap::test {

// One standard normal draw (Box and Muller 1958).
inline double Normal(Rng& rng) {
  const double u = 1.0 - rng.Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * rng.Uniform());
}

}  // namespace stemtap::test
