// SPDX-License-Identifier: Apache-2.0
// Measures the functions of stemtap/control.h in a process that is not recorded, and the
// functions of the injected library that implement them.
#include <benchmark/benchmark.h>

#include "control/program_control.h"
#include "stemtap/control.h"

namespace stemtap {
namespace {

// The benchmark runs without the library in its environment.
void RangeNotRecorded(benchmark::State& state) {
  for (auto _ : state) {
    stemtap_range_push("decode");
    stemtap_range_pop();
  }
}
BENCHMARK(RangeNotRecorded);

void NestedRange(benchmark::State& state) {
  inject::ProgramControl& control = inject::Control();
  control.PushRange("decode");
  for (auto _ : state) {
    control.PushRange("attention");
    control.PopRange();
  }
  control.PopRange();
}
BENCHMARK(NestedRange)->Threads(1)->Threads(2);

void NextStep(benchmark::State& state) {
  for (auto _ : state) inject::Control().Step();
}
BENCHMARK(NextStep);

}  // namespace
}  // namespace stemtap
