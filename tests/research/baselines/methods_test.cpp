// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "made_profile.h"
#include "research/baselines/method.h"

namespace stemtap::research {
namespace {

TEST_CASE("every method has a unique name, and stemtap's methods come first") {
  std::vector<std::string> names;
  for (const MethodEntry& entry : Methods()) {
    names.emplace_back(entry.name);
    CHECK(std::string(entry.help).size() > 10);
  }
  CHECK(names == std::vector<std::string>{"optimal", "root", "stem", "allegro", "stem-ae",
                                          "stem-ae-1", "pka", "sieve", "photon", "tbpoint",
                                          "random"});
}

TEST_CASE("methods that need more than durations report this with their name") {
  test::MadeProfile made;
  for (int i = 0; i < 20; ++i) made.Add("kernel", 1'000);
  const std::set<std::string> need_more = {"pka", "sieve", "photon", "tbpoint"};
  for (const MethodEntry& entry : Methods()) {
    CAPTURE(entry.name);
    const auto method = entry.prepare(made.input());
    CHECK(method.ok() == !need_more.contains(entry.name));
    if (!method.ok()) {
      CHECK(method.error().message.starts_with(std::string(entry.name) + " needs "));
      CHECK(method.error().message.find('\n') == std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stemtap::research
