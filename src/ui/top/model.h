// SPDX-License-Identifier: Apache-2.0
//
// Model is what a view shows and what the keys have made of it: which table, its order, its filter, the row
// that the cursor is on. It knows no terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ui/top/shown_run.h"

namespace stemtap::top {

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
  char32_t character = 0;  // of kCharacter, and of control characters: their code
};

enum class View : std::uint8_t { kKernels, kClusters, kProcesses, kHelp };
enum class Order : std::uint8_t { kTime, kLaunches, kMean, kCaptured, kName };
inline constexpr int kOrders = 5;

// Where a table stands: the row under the cursor, and the first that is seen.
struct Place {
  std::size_t cursor = 0;
  std::size_t first = 0;
};

class Model {
 public:
  // Shows the sessions as they are now. They, and the overviews that they point to, must live until the
  // next call.
  void Show(std::vector<Session> sessions);
  void Press(KeyPress press);

  const std::vector<Session>& sessions() const { return sessions_; }
  const ShownRun& run() const { return run_; }
  // Indices of run().kernels: those that the filter lets through, in order.
  const std::vector<std::uint32_t>& order() const { return order_; }
  // The kernel whose clusters are shown; null where it is not there.
  const KernelRow* chosen() const;

  View view() const { return view_; }
  Order sorted_by() const { return sorted_by_; }
  bool reversed() const { return reversed_; }
  const std::string& filter() const { return filter_; }
  bool typing() const { return typing_; }
  bool paused() const { return paused_; }
  bool quit() const { return quit_; }
  int only() const { return only_; }  // index of the one session that is shown; -1: all

  // How many rows the table of the view has, and where it stands once `seen` of them are: the cursor is
  // among them. Tables whose rows are not chosen from scroll instead.
  std::size_t Rows() const;
  Place PlaceIn(std::size_t seen);
  // How many lines the help has: its drawing knows.
  void set_help_rows(std::size_t rows) { help_rows_ = rows; }

 private:
  // What makes a kernel, to find it again in the next overview.
  struct Identity {
    std::string name;
    std::int32_t process = 0;
    shm::LaunchConfig config = {};
  };
  static Identity IdentityOf(const OverviewKernel& kernel);
  static bool Is(const OverviewKernel& kernel, const Identity& identity);

  void Rebuild();
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

  std::vector<Session> sessions_;
  ShownRun run_;
  std::vector<std::uint32_t> order_;
  View view_ = View::kKernels;
  View before_help_ = View::kKernels;
  Place places_[4];
  std::size_t seen_ = 1;  // rows, as drawn last
  Order sorted_by_ = Order::kTime;
  bool reversed_ = false;
  std::string filter_;
  std::string filter_before_;  // that escape brings back
  bool typing_ = false;
  bool paused_ = false;
  bool quit_ = false;
  int only_ = -1;
  std::size_t help_rows_ = 0;
  // The cursor stays on its kernel once it has been moved there; the first row is the first, whoever it is.
  std::optional<Identity> held_;
  std::optional<Identity> chosen_;
};

// Whether `text` holds `part`, whatever the case of ASCII letters. An empty part is in every text.
bool ContainsIgnoringCase(std::string_view text, std::string_view part);

}  // namespace stemtap::top
