// SPDX-License-Identifier: Apache-2.0
//
// Model contains the state of the view: the displayed table, its order and filter, and the row
// under the cursor. It does not depend on a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/row_view.h"
#include "ui/top/shown_run.h"

namespace re2 {
class RE2;
}

namespace stemtap::ui {

enum class Key : std::uint8_t {
  kNone,
  kCharacter,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kLeft,
  kRight,
  kEscape,
  kBackspace,
  kTab,
  kHelp,
  kQuit,
};

struct KeyPress {
  Key key = Key::kNone;
  char32_t character = 0;  // for kCharacter; for control characters, their code
};

enum class View : std::uint8_t { kKernels, kClusters, kProcesses, kHelp };
enum class Order : std::uint8_t { kTime, kLaunches, kMean, kCaptured, kName };
inline constexpr int kOrders = 5;
inline constexpr const char* kOrderNames[kOrders] = {"time", "launches", "mean", "captured",
                                                     "name"};

// Place is the scroll state of a table: the row under the cursor and the first visible row.
struct Place {
  std::size_t cursor = 0;
  std::size_t first = 0;
};

// MEMBERS: the data, and one field for each thing that a key changes.
class Model {
 public:
  // Shows the current sessions. They and the overviews that they point to must stay valid until the
  // next call.
  void Show(std::vector<WatchedSession> sessions);
  void Press(KeyPress press);
  // Shows only the kernels that --filter and --top select, sorted by a key of kOrderNames.
  // REQUIRES: CompilePattern accepts the filter.
  void Choose(const model::RowChoice& choice);

  const std::vector<WatchedSession>& sessions() const { return sessions_; }
  const ShownRun& run() const { return run_; }
  // Returns the indices of run().kernels that pass the filter, in display order.
  const std::vector<std::uint32_t>& order() const { return order_; }
  // Returns which kernels --filter and --top leave out; its `rows` are empty.
  const model::RowView& left_out() const { return left_out_; }
  const model::RowChoice& choice() const { return choice_; }
  // Returns the brief name of a kernel of run(). No other kernel of run() has it.
  const std::string& BriefNameOf(const KernelRow& row) const {
    return brief_names_.at(row.kernel->name);
  }
  // Returns the kernel whose clusters are shown; null if the overview does not contain it.
  const KernelRow* chosen() const;

  View view() const { return view_; }
  Order sorted_by() const { return sorted_by_; }
  bool reversed() const { return reversed_; }
  const std::string& filter() const { return filter_; }
  bool typing() const { return typing_; }
  bool paused() const { return paused_; }
  bool quit() const { return quit_; }
  int only() const { return only_; }  // index of the only displayed session; -1 for all

  // Rows returns the number of rows in the current table. PlaceIn returns its scroll state for
  // `seen` visible rows, with the cursor among them. Tables without a selectable row scroll
  // instead.
  std::size_t Rows() const;
  Place PlaceIn(std::size_t seen);
  // Sets the number of help lines, which the drawing code defines.
  void set_help_rows(std::size_t rows) { help_rows_ = rows; }

 private:
  // Identity identifies a kernel across overviews.
  struct Identity {
    model::KernelId kernel;
    std::string session;  // directory; empty if the kernel is not of a single process
  };
  Identity IdentityOf(const KernelRow& row) const;
  bool Is(const KernelRow& row, const Identity& identity) const;
  // Returns the directory of the session whose process owns the kernel, or "" if none does.
  const std::string& SessionOf(const KernelRow& row) const;

  void Rebuild();
  void UpdateBriefNames();
  void Sort();
  void FollowHeld();
  void Hold();
  void Move(std::ptrdiff_t by);
  void Type(KeyPress press);
  void Command(char32_t character);
  void SortBy(Order order);
  void StepSession(int by);
  void Enter();
  void Back();
  Place& place() { return places_[static_cast<std::size_t>(view_)]; }

  std::vector<WatchedSession> sessions_;
  ShownRun run_;
  std::unordered_map<std::string, std::string>
      brief_names_;  // of kernels of run_, and of earlier ones
  std::vector<std::uint32_t> order_;
  model::RowChoice choice_;
  std::shared_ptr<const re2::RE2> pattern_;  // null without --filter
  model::RowView left_out_;
  View view_ = View::kKernels;
  View before_help_ = View::kKernels;
  Place places_[4];
  std::size_t seen_ = 1;  // rows, as last drawn
  Order sorted_by_ = Order::kTime;
  bool reversed_ = false;
  std::string filter_;
  std::string filter_before_;  // restored by Escape
  bool typing_ = false;
  bool paused_ = false;
  bool quit_ = false;
  int only_ = -1;
  std::size_t help_rows_ = 0;
  // The cursor stays on its kernel once it has been moved there. In the first row it stays in the
  // first row, whichever kernel that is.
  std::optional<Identity> held_;
  std::optional<Identity> chosen_;
};

// Returns whether `text` contains `part`, ignoring the case of ASCII letters. Every text contains
// an empty part.
bool ContainsIgnoringCase(std::string_view text, std::string_view part);

}  // namespace stemtap::ui
