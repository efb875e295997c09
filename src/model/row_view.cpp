// SPDX-License-Identifier: Apache-2.0
#include "model/row_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "model/name_pattern.h"

namespace stemtap::model {
namespace {

RowView Matching(const RowChoice& choice, std::span<const std::string_view> names,
                 std::span<const std::string> brief_names) {
  RowView view;
  const auto pattern = CompilePattern(choice.filter);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool matches = choice.filter.empty() || !pattern.ok() ||
                         re2::RE2::PartialMatch(names[i], *pattern.value()) ||
                         re2::RE2::PartialMatch(brief_names[i], *pattern.value());
    if (matches) view.rows.push_back(i);
  }
  view.filtered = names.size() - view.rows.size();
  return view;
}

RowView Top(RowView view, std::size_t count) {
  view.below_top = view.rows.size() - std::min(view.rows.size(), count);
  view.rows.resize(view.rows.size() - view.below_top);
  return view;
}

}  // namespace

RowView ChooseRows(const RowChoice& choice, std::span<const std::string_view> names,
                   std::span<const std::string> brief_names,
                   const std::function<double(std::size_t)>& value_of) {
  RowView view = Matching(choice, names, brief_names);
  if (value_of) {
    std::stable_sort(view.rows.begin(), view.rows.end(), [&](std::size_t a, std::size_t b) {
      const double of_a = value_of(a);
      const double of_b = value_of(b);
      return std::isnan(of_b) ? !std::isnan(of_a) : of_a > of_b;
    });
  }
  return Top(std::move(view), choice.top);
}

RowView ChooseRowsByName(const RowChoice& choice, std::span<const std::string_view> names,
                         std::span<const std::string> brief_names) {
  RowView view = Matching(choice, names, brief_names);
  std::stable_sort(view.rows.begin(), view.rows.end(),
                   [&](std::size_t a, std::size_t b) { return brief_names[a] < brief_names[b]; });
  return Top(std::move(view), choice.top);
}

std::string LeftOutLine(const RowView& view, std::string_view one) {
  std::string text;
  if (view.below_top != 0) {
    text = "... and " + Plural(view.below_top, fmt::format("more {}", one));
  }
  if (view.filtered != 0) {
    text += fmt::format("{}{} not matched by --filter", text.empty() ? "... and " : ", and ",
                        Plural(view.filtered, one));
  }
  return text.empty() ? text : text + '\n';
}

}  // namespace stemtap::model
