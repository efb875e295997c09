// SPDX-License-Identifier: Apache-2.0
// Shortens arbitrary bytes as the kernel names of a run, one per line. Each form must be within its
// limit, and different names must stay different.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/expect.h"
#include "model/brief_name.h"
#include "model/kernel_category.h"
#include "model/kernel_name.h"

namespace {

using namespace stemtap;

void CheckForms(std::string_view name) {
  const std::size_t max = std::max(model::kMaxNameText, name.size());
  EXPECT(model::Demangled(name).size() <= max);
  for (const model::NameParts parts : {model::NameParts{},
                                       {.scopes = true},
                                       {.parameters = true},
                                       {.scopes = true, .parameters = true}}) {
    EXPECT(model::BriefName(name, parts).size() <= max);
  }
  model::CategoryOf(name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> names;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    names.push_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  for (const std::string_view name : names) CheckForms(name);
  const std::vector<std::string> shown = model::BriefNames(names);
  EXPECT(std::set<std::string>(shown.begin(), shown.end()).size() ==
         std::set<std::string_view>(names.begin(), names.end()).size());
  return 0;
}
