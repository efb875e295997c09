// SPDX-License-Identifier: Apache-2.0
#include "ui/top/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "ui/top/draw.h"
#include "ui/top/model.h"
#include "ui/top/screen.h"
#include "ui/top/session_watch.h"

namespace stemtap::ui {
namespace {

using Clock = std::chrono::steady_clock;
using Watches = std::vector<std::unique_ptr<SessionWatch>>;

Watches WatchesOf(const TopOptions& options) {
  Watches watches;
  for (const std::string& directory : options.directories) {
    watches.push_back(std::make_unique<SessionWatch>(directory));
  }
  return watches;
}

bool Refresh(Watches& watches) {
  bool changed = false;
  for (const auto& watch : watches) changed = watch->Refresh() || changed;
  return changed;
}

std::vector<WatchedSession> SessionsOf(const Watches& watches) {
  std::vector<WatchedSession> sessions;
  for (const auto& watch : watches) {
    sessions.push_back({watch->directory(), watch->state(), watch->overview(), watch->problem(),
                        watch->plan(), watch->overdue_s(), watch->launches_per_s()});
  }
  return sessions;
}

// Reads all sessions once. Returns an error if none has an overview.
Result<Watches> ReadOnce(const TopOptions& options) {
  Watches watches = WatchesOf(options);
  Refresh(watches);
  if (std::all_of(watches.begin(), watches.end(),
                  [](const auto& watch) { return watch->overview() == nullptr; })) {
    return Error{watches.front()->problem()};
  }
  return watches;
}

}  // namespace

Result<std::string> SnapshotOf(const TopOptions& options) {
  const bool unicode = TakeLocale();
  const Watches watches = STEMTAP_TRY(ReadOnce(options));
  Model model;
  model.Choose(options.rows);
  model.Show(SessionsOf(watches));
  return Snapshot(model, unicode, options.width);
}

Result<std::string> OverviewsOf(const TopOptions& options) {
  const Watches watches = STEMTAP_TRY(ReadOnce(options));
  for (const auto& watch : watches) {
    if (watch->overview() == nullptr) return Error{watch->problem()};
  }
  if (watches.size() == 1) return std::string(watches[0]->text());
  std::string text;
  for (const auto& watch : watches) {
    text += text.empty() ? "[" : ",";
    text += watch->text();
  }
  return text + "]\n";
}

Result<int> Watch(const TopOptions& options, std::string& snapshot) {
  const bool unicode = TakeLocale();
  const std::unique_ptr<Screen> screen = Screen::Open();
  if (screen == nullptr) {
    snapshot = STEMTAP_TRY(SnapshotOf(options));
    return 0;
  }
  const auto interval = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(options.interval_s));
  Watches watches = WatchesOf(options);
  Model model;
  model.Choose(options.rows);
  Clock::time_point next = Clock::now();
  while (screen->ended() == 0 && !model.quit()) {
    if (Clock::now() >= next) {
      if (!model.paused() && Refresh(watches)) model.Show(SessionsOf(watches));
      next = std::max(next + interval, Clock::now());
    }
    screen->Draw(DrawScreen(model, screen->width(), screen->height(), unicode));
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    KeyPress press = screen->Read(std::clamp(wait, std::chrono::milliseconds(0), Screen::kMaxWait));
    const bool paused = model.paused();
    // Process all pending keys before drawing again.
    for (int more = 0; press.key != Key::kNone && more < 256; ++more) {
      model.Press(press);
      press = model.quit() ? KeyPress() : screen->Read(std::chrono::milliseconds(0));
    }
    if (paused && !model.paused()) next = Clock::now();
  }
  return screen->ended() > 0 ? 128 + screen->ended() : 0;
}

}  // namespace stemtap::ui
