// SPDX-License-Identifier: Apache-2.0
//
// Shown lets tests send keys to a model and read the screen that it draws.
//
// THREADS: none.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/overview_reader.h"
#include "ui/top/draw.h"
#include "ui/top/made_overview.h"
#include "ui/top/model.h"

namespace stemtap::ui {

// Shown contains overviews and a model that shows them.
struct Shown {
  explicit Shown(const std::vector<test::MadeOverview>& made) { Again(made); }

  void Again(const std::vector<test::MadeOverview>& made) {
    std::vector<std::unique_ptr<model::Overview>> next;
    std::vector<WatchedSession> sessions;
    for (const test::MadeOverview& m : made) {
      Result<model::Overview> parsed = model::ParseOverview(test::JsonOf(m), "made");
      if (!parsed.ok()) FAIL(parsed.error().message);
      next.push_back(std::make_unique<model::Overview>(std::move(parsed).value()));
      sessions.push_back({"/s/rank" + std::to_string(next.size()),
                          m.state == "ended" ? SessionState::kEnded : SessionState::kRunning,
                          next.back().get(), ""});
      sessions.back().launches_per_s = 1000.0;
    }
    model.Show(sessions);
    overviews = std::move(next);
  }
  void Type(const std::string& keys) {
    for (const char c : keys) model.Press({Key::kCharacter, static_cast<char32_t>(c)});
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const std::uint32_t i : model.order())
      names.push_back(model.run().kernels[i].kernel->name);
    return names;
  }
  std::string Screen(int width = 80, int height = 24, bool unicode = false) {
    std::string text;
    const Frame frame = DrawScreen(model, width, height, unicode);
    for (const Line& line : frame.lines) text += line.Text() + "\n";
    return text;
  }
  // Returns the text of the row under the cursor.
  std::string Cursor(int height = 24) {
    for (const Line& line : DrawScreen(model, 80, height, false).lines) {
      if (line.rest == Style::kCursor) return line.Text();
    }
    return "";
  }

  std::vector<std::unique_ptr<model::Overview>> overviews;
  Model model;
};

inline bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Returns `count` kernels. kernel_0 has the most time.
inline std::vector<test::MadeKernel> Many(int count) {
  std::vector<test::MadeKernel> kernels;
  for (int i = 0; i < count; ++i) {
    kernels.push_back(
        {"kernel_" + std::to_string(i), 10, static_cast<std::uint64_t>(count - i) * 1000, 1});
  }
  return kernels;
}

}  // namespace stemtap::ui
