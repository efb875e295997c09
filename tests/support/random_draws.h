// SPDX-License-Identifier: Apache-2.0
//
// Draws from common distributions with the project's random number generator.
#pragma once

#include <cmath>

#include "base/rng.h"

namespace stemtap::test {

// Returns one standard normal draw (Box and Muller 1958).
inline double Normal(Rng& rng) {
  const double u = 1.0 - rng.Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * rng.Uniform());
}

}  // namespace stemtap::test
