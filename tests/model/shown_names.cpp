// SPDX-License-Identifier: Apache-2.0
// Reads names of kernels, one per line, as the kernels of one run. Prints the category, the brief
// name, the name that tables show and the C++ form of each, separated by tabs. For real_names_test.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "model/brief_name.h"
#include "model/kernel_category.h"
#include "model/kernel_name.h"

int main() {
  using namespace stemtap;
  std::vector<std::string> names;
  for (std::string line; std::getline(std::cin, line);) names.push_back(line);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::vector<std::string> shown = model::BriefNames(views);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::printf("%s\t%s\t%s\t%s\n", model::NameOf(model::CategoryOf(names[i])),
                model::BriefName(names[i]).c_str(), shown[i].c_str(),
                model::Demangled(names[i]).c_str());
  }
  return 0;
}
