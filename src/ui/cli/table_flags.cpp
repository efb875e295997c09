// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/table_flags.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "model/name_pattern.h"

namespace stemtap::ui {
namespace {

std::string PatternError(std::string& value) {
  const auto pattern = model::CompilePattern(value);
  return pattern.ok() ? std::string() : pattern.error().message;
}

}  // namespace

void TableFlags::AddTo(session::CommandSpec& command, std::vector<std::string> sort_keys,
                       std::uint64_t top) {
  sort_ = sort_keys.front();
  top_ = top;
  command.Add("--sort", &sort_, "what the rows are sorted by").OneOf(std::move(sort_keys));
  command
      .Add("--top", &top_,
           top == 0 ? "print only the first N rows; all by default" : "print only the first N rows")
      .In(1, std::numeric_limits<std::uint32_t>::max());
  command
      .Add("--filter", &filter_,
           "print only rows whose name or short name matches this regular expression (RE2); totals "
           "include all rows")
      .Type("REGEX")
      .check = PatternError;
}

model::RowChoice TableFlags::Choice() const {
  model::RowChoice choice = {sort_, filter_};
  if (top_ != 0) choice.top = top_;
  return choice;
}

Status CheckWholeJson(const session::CommandSpec& parsed, const char* name) {
  for (const char* option : {"--sort", "--top", "--filter"}) {
    if (!parsed.Given(option)) continue;
    return Error{fmt::format("{}: applies to the table, and --json prints the whole {}; expected "
                             "only one of them",
                             option, name),
                 2};
  }
  return Success{};
}

}  // namespace stemtap::ui
