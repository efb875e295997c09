// SPDX-License-Identifier: Apache-2.0
#include "ui/top/model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/brief_name.h"
#include "model/name_pattern.h"
#include "ui/top/canvas.h"

namespace stemtap::ui {
namespace {

// Filters are short: a word or two.
constexpr std::size_t kMaxFilterBytes = 256;

constexpr std::array<char, 256> kLower = [] {
  std::array<char, 256> lower{};
  for (int i = 0; i < 256; ++i) {
    lower[static_cast<std::size_t>(i)] = static_cast<char>(i >= 'A' && i <= 'Z' ? i + 32 : i);
  }
  return lower;
}();

char Lower(char c) {
  return kLower[static_cast<unsigned char>(c)];
}

}  // namespace

bool ContainsIgnoringCase(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return Lower(a) == Lower(b); }) != text.end() ||
         part.empty();
}

const std::string& Model::SessionOf(const KernelRow& row) const {
  static const std::string kNone;
  return row.kernel->spans_sessions() ? kNone
                                      : sessions_[run_.part_sessions[row.first_part]].directory;
}

Model::Identity Model::IdentityOf(const KernelRow& row) const {
  return {*row.kernel, SessionOf(row)};
}

bool Model::Is(const KernelRow& row, const Identity& identity) const {
  const model::KernelId& kernel = *row.kernel;
  return kernel == identity.kernel && SessionOf(row) == identity.session;
}

void Model::Show(std::vector<WatchedSession> sessions) {
  sessions_ = std::move(sessions);
  Rebuild();
}

void Model::Choose(const model::RowChoice& choice) {
  choice_ = choice;
  for (int i = 0; i < kOrders; ++i) {
    if (choice.sort == kOrderNames[i]) sorted_by_ = static_cast<Order>(i);
  }
  auto pattern = model::CompilePattern(choice.filter);
  const bool has_filter = !choice.filter.empty() && pattern.ok();
  pattern_ = has_filter ? std::shared_ptr<const re2::RE2>(std::move(pattern).value()) : nullptr;
  Sort();
}

void Model::Rebuild() {
  if (only_ >= static_cast<int>(sessions_.size())) only_ = -1;
  run_ = MakeShownRun(sessions_, only_);
  UpdateBriefNames();
  Sort();
}

// Most overviews have the same kernels as the previous one.
void Model::UpdateBriefNames() {
  const bool has_all =
      std::all_of(run_.kernels.begin(), run_.kernels.end(),
                  [&](const KernelRow& row) { return brief_names_.contains(row.kernel->name); });
  if (has_all) return;
  std::vector<std::string_view> names;
  for (const KernelRow& row : run_.kernels) names.push_back(row.kernel->name);
  std::vector<std::string> briefs = model::BriefNames(names);
  brief_names_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) {
    brief_names_.emplace(names[i], std::move(briefs[i]));
  }
}

void Model::Sort() {
  order_.clear();
  left_out_ = {};
  for (std::size_t i = 0; i < run_.kernels.size(); ++i) {
    const KernelRow& row = run_.kernels[i];
    const bool is_chosen = pattern_ == nullptr ||
                           re2::RE2::PartialMatch(row.kernel->name, *pattern_) ||
                           re2::RE2::PartialMatch(BriefNameOf(row), *pattern_);
    left_out_.filtered += is_chosen ? 0 : 1;
    if (is_chosen && ContainsIgnoringCase(row.kernel->name, filter_)) {
      order_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  const auto sort = [this](auto before) {
    // Equal rows keep the order of the overview.
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const std::uint32_t x = reversed_ ? b : a;
      const std::uint32_t y = reversed_ ? a : b;
      if (before(x, y)) return true;
      return !before(y, x) && a < b;
    });
  };
  const auto greatest_first = [&](auto value_of) {
    sort([&](std::uint32_t a, std::uint32_t b) {
      return value_of(run_.kernels[a]) > value_of(run_.kernels[b]);
    });
  };
  switch (sorted_by_) {
    case Order::kTime:
      greatest_first([](const KernelRow& row) { return row.duration_ns; });
      break;
    case Order::kLaunches:
      greatest_first([](const KernelRow& row) { return row.invocations; });
      break;
    case Order::kMean:
      greatest_first([](const KernelRow& row) { return row.mean_ns(); });
      break;
    case Order::kCaptured:
      greatest_first([](const KernelRow& row) { return row.captured; });
      break;
    case Order::kName: {
      sort([&](std::uint32_t a, std::uint32_t b) {
        return BriefNameOf(run_.kernels[a]) < BriefNameOf(run_.kernels[b]);
      });
      break;
    }
  }
  left_out_.below_top = order_.size() - std::min(order_.size(), choice_.top);
  order_.resize(order_.size() - left_out_.below_top);
  FollowHeld();
}

void Model::FollowHeld() {
  Place& kernels = places_[static_cast<std::size_t>(View::kKernels)];
  if (held_) {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (Is(run_.kernels[order_[i]], *held_)) {
        kernels.cursor = i;
        return;
      }
    }
  }
  if (kernels.cursor >= order_.size()) kernels.cursor = order_.empty() ? 0 : order_.size() - 1;
}

void Model::Hold() {
  if (view_ != View::kKernels) return;
  held_.reset();
  if (place().cursor > 0 && place().cursor < order_.size()) {
    held_ = IdentityOf(run_.kernels[order_[place().cursor]]);
  }
}

const KernelRow* Model::chosen() const {
  if (!chosen_) return nullptr;
  for (const KernelRow& row : run_.kernels) {
    if (Is(row, *chosen_)) return &row;
  }
  return nullptr;
}

std::size_t Model::Rows() const {
  switch (view_) {
    case View::kKernels:
      return order_.size();
    case View::kProcesses:
      return run_.processes.size();
    case View::kHelp:
      return help_rows_;
    case View::kClusters:
      break;
  }
  std::size_t clusters = 0;
  if (const KernelRow* row = chosen()) {
    for (const model::OverviewKernel* part : run_.KernelsIn(*row))
      clusters += part->clusters.size();
  }
  return clusters;
}

Place Model::PlaceIn(std::size_t seen) {
  const std::size_t rows = Rows();
  Place& at = place();
  seen_ = std::max<std::size_t>(seen, 1);
  at.cursor = rows == 0 ? 0 : std::min(at.cursor, rows - 1);
  if (view_ == View::kHelp) {  // scrolls without a cursor
    at.cursor = std::min(at.cursor, rows > seen_ ? rows - seen_ : 0);
    at.first = at.cursor;
    return at;
  }
  if (at.cursor < at.first) at.first = at.cursor;
  if (at.cursor >= at.first + seen_) at.first = at.cursor - seen_ + 1;
  // Show no empty rows at the end while rows remain above.
  at.first = std::min(at.first, rows > seen_ ? rows - seen_ : 0);
  return at;
}

void Model::Move(std::ptrdiff_t by) {
  const std::size_t rows = Rows();
  if (rows == 0) return;
  std::size_t& cursor = place().cursor;
  const auto most = static_cast<std::ptrdiff_t>(rows - 1);
  const auto now = static_cast<std::ptrdiff_t>(std::min(cursor, rows - 1));
  cursor = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(now + by, 0, most));
  Hold();
}

void Model::Press(KeyPress press) {
  const auto page = static_cast<std::ptrdiff_t>(seen_);
  const auto all = static_cast<std::ptrdiff_t>(Rows());
  switch (press.key) {
    case Key::kUp:
      return Move(-1);
    case Key::kDown:
      return Move(1);
    case Key::kPageUp:
      return Move(-page);
    case Key::kPageDown:
      return Move(page);
    case Key::kHome:
      return Move(-all);
    case Key::kEnd:
      return Move(all);
    case Key::kQuit:
      quit_ = true;
      return;
    default:
      break;
  }
  if (typing_) return Type(press);
  switch (press.key) {
    case Key::kEnter:
    case Key::kRight:
      return Enter();
    case Key::kLeft:
    case Key::kEscape:
    case Key::kBackspace:
      return Back();
    case Key::kTab:
      if (view_ == View::kHelp) return Back();
      view_ = view_ == View::kProcesses ? View::kKernels : View::kProcesses;
      return;
    case Key::kHelp:
      return Command('h');
    case Key::kCharacter:
      return Command(press.character);
    default:
      return;
  }
}

void Model::Type(KeyPress press) {
  switch (press.key) {
    case Key::kEnter:
      typing_ = false;
      return;
    case Key::kEscape:
      typing_ = false;
      filter_ = filter_before_;
      break;
    case Key::kBackspace:
      // Find the start of the last UTF-8 character.
      while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xC0) == 0x80) {
        filter_.pop_back();
      }
      if (!filter_.empty()) filter_.pop_back();
      break;
    case Key::kCharacter:
      if (press.character == 21) {  // Ctrl-U
        filter_.clear();
      } else if (press.character >= 0x20 && press.character != 0x7F &&
                 filter_.size() < kMaxFilterBytes) {
        filter_ += Utf8(press.character);
      }
      break;
    default:
      return;
  }
  Sort();
}

void Model::SortBy(Order order) {
  reversed_ = sorted_by_ == order && !reversed_;
  sorted_by_ = order;
  Sort();
}

void Model::StepSession(int by) {
  const int count = static_cast<int>(sessions_.size());
  if (count < 2) return;
  // Cycle through all sessions together, then each one.
  only_ = (only_ + 1 + by + count + 1) % (count + 1) - 1;
  Rebuild();
}

void Model::Enter() {
  if (view_ == View::kKernels) {
    if (place().cursor >= order_.size()) return;
    chosen_ = IdentityOf(run_.kernels[order_[place().cursor]]);
    held_ = chosen_;
    view_ = View::kClusters;
    place() = {};
  } else if (view_ == View::kProcesses) {
    if (sessions_.size() < 2 || place().cursor >= run_.processes.size()) return;
    only_ = static_cast<int>(run_.processes[place().cursor].session);
    view_ = View::kKernels;
    Rebuild();
  } else if (view_ == View::kHelp) {
    Back();
  }
}

void Model::Back() {
  if (view_ == View::kHelp) {
    view_ = before_help_;
  } else if (view_ != View::kKernels) {
    view_ = View::kKernels;
  } else if (!filter_.empty()) {
    filter_.clear();
    Sort();
  }
}

void Model::Command(char32_t character) {
  switch (character) {
    case 'q':
      quit_ = true;
      return;
    case 'h':
    case '?':
      if (view_ == View::kHelp) return Back();
      before_help_ = view_;
      view_ = View::kHelp;
      place() = {};
      return;
    case 'k':
      return Move(-1);
    case 'j':
      return Move(1);
    case 'g':
      return Move(-static_cast<std::ptrdiff_t>(Rows()));
    case 'G':
      return Move(static_cast<std::ptrdiff_t>(Rows()));
    case 'p':
      paused_ = !paused_;
      return;
    case '[':
      return StepSession(-1);
    case ']':
      return StepSession(1);
    default:
      break;
  }
  if (view_ != View::kKernels) return;
  switch (character) {
    case '/':
      filter_before_ = filter_;
      typing_ = true;
      return;
    case 's':
      sorted_by_ = static_cast<Order>((static_cast<int>(sorted_by_) + 1) % kOrders);
      reversed_ = false;
      return Sort();
    case 'r':
      reversed_ = !reversed_;
      return Sort();
    case 't':
      return SortBy(Order::kTime);
    case 'l':
      return SortBy(Order::kLaunches);
    case 'm':
      return SortBy(Order::kMean);
    case 'c':
      return SortBy(Order::kCaptured);
    case 'n':
      return SortBy(Order::kName);
    default:
      return;
  }
}

}  // namespace stemtap::ui
