// SPDX-License-Identifier: Apache-2.0
// Usage: top_overview_writer DIRECTORY KERNELS PERIOD_MS COUNT
// Rewrites DIRECTORY/overview.json COUNT times like a collector, with growing figures.
#include <cstdlib>
#include <string>
#include <thread>

#include "ui/top/made_overview.h"

int main(int argc, char** argv) {
  using namespace stemtap::test;
  if (argc != 5) return 2;
  const int kernels = std::atoi(argv[2]);
  const auto period = std::chrono::milliseconds(std::atoi(argv[3]));
  const int count = std::atoi(argv[4]);
  auto next = std::chrono::steady_clock::now();
  for (int step = 1; step <= count; ++step) {
    MadeOverview made;
    made.large = true;
    made.elapsed_s = 0.001 * static_cast<double>(period.count()) * step;
    made.state = step == count ? "ended" : "running";
    made.kernels.clear();
    for (int i = 0; i < kernels; ++i) {
      const auto n =
          static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(1 + 100 * (i % 7));
      made.kernels.push_back({"void at::native::vectorized_elementwise_kernel<4, Functor_" +
                                  std::to_string(i) + ">(int, Functor, Array<char*, 3>)",
                              n, n * static_cast<std::uint64_t>(2000 + 13 * (kernels - i)), 3});
    }
    WriteOverview(argv[1], JsonOf(made));
    next += period;
    std::this_thread::sleep_until(next);
  }
  return 0;
}
