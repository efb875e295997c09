// SPDX-License-Identifier: Apache-2.0
#include "ui/top/text_watch.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace stemtap::ui;

namespace {

std::vector<std::string> TextOf(const Frame& frame) {
  std::vector<std::string> lines;
  for (const Line& line : frame.lines) lines.push_back(line.Text());
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a text that fits is drawn above the keys") {
  TextView view;
  view.Show("title\nrow\n");
  CHECK(TextOf(view.Draw(80, 5, false)) == Lines{"title", "row", "", "", "q quit  "});
  CHECK(TextOf(view.Draw(3, 3, false)) == Lines{"ti~", "row", "q ~"});
  CHECK(view.Draw(0, 5, false).lines.empty());
  CHECK(TextOf(view.Draw(80, 1, false)) == Lines{"q quit  Up Down move"});
}

TEST_CASE("keys move a text that does not fit") {
  TextView view;
  view.Show("0\n1\n2\n3\n4\n5\n");
  const auto first = [&view] { return view.Draw(80, 4, false).lines.front().Text(); };
  CHECK(first() == "0");
  for (const auto& [key, expected] :
       std::vector<std::pair<Key, const char*>>{{Key::kUp, "0"},
                                                {Key::kDown, "1"},
                                                {Key::kPageDown, "3"},
                                                {Key::kDown, "3"},
                                                {Key::kUp, "2"},
                                                {Key::kHome, "0"},
                                                {Key::kEnd, "3"},
                                                {Key::kPageUp, "0"}}) {
    view.Press({key});
    CHECK(first() == expected);
  }
  view.Press({Key::kEnd});
  CHECK(first() == "3");
  view.Show("0\n1\n");
  CHECK(first() == "0");
}

TEST_CASE("a problem is shown above the last text until it is over") {
  TextView view;
  view.Show("a\nb\n");
  view.SetProblem("no server\x1B");
  CHECK(TextOf(view.Draw(80, 4, false)) == Lines{"no server\\x1B", "a", "b", "q quit  "});
  view.SetProblem("");
  CHECK(TextOf(view.Draw(80, 3, false)) == Lines{"a", "b", "q quit  "});
}

TEST_CASE("q and the key for quitting quit") {
  for (const KeyPress press : {KeyPress{Key::kQuit}, KeyPress{Key::kCharacter, 'q'}}) {
    TextView view;
    view.Press({Key::kCharacter, 'x'});
    CHECK_FALSE(view.quit());
    view.Press(press);
    CHECK(view.quit());
  }
}
