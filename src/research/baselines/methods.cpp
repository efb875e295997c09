// SPDX-License-Identifier: Apache-2.0
#include "research/baselines/method.h"
#include "research/baselines/photon.h"
#include "research/baselines/pka.h"
#include "research/baselines/random.h"
#include "research/baselines/sieve.h"
#include "research/baselines/stem_ae.h"
#include "research/baselines/stratified.h"
#include "research/baselines/tbpoint.h"
#include "sampling/strata.h"

namespace stemtap::research {
namespace {

constexpr MethodEntry kEntries[] = {
    {sampling::kMethods[0].name, sampling::kMethods[0].help, PrepareOptimal},
    {sampling::kMethods[1].name, sampling::kMethods[1].help, PrepareRoot},
    {sampling::kMethods[2].name, sampling::kMethods[2].help, PrepareStem},
    {"allegro", "STEM-only, with kernels distinguished by name, grid and block", PrepareAllegro},
    {"stem-ae", "the scripts released with STEM+ROOT; clusters without variance get no sample",
     PrepareStemAe},
    {"stem-ae-1", "stem-ae, with one sample of each cluster without variance", PrepareStemAeOne},
    {"pka", "Principal Kernel Selection: k-means on the principal components of 12 counters",
     PreparePka},
    {"sieve", "Sieve: strata of each kernel by instruction count, one representative each",
     PrepareSieve},
    {"photon", "Photon: skip a launch if its basic-block vector is close to a sampled one",
     PreparePhoton},
    {"tbpoint", "TBPoint: hierarchical clusters of each kernel's launches by their counters",
     PrepareTbpoint},
    {"random", "each launch with a probability of 0.1 %", PrepareRandom},
};

}  // namespace

std::span<const MethodEntry> Methods() {
  return kEntries;
}

}  // namespace stemtap::research
