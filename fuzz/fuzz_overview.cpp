// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as an overview.json. An accepted overview is written and read again, which
// must give the same bytes. It is also rendered, alone and compared with itself, on screens of
// several sizes; lines must fit and must not contain terminal control characters.
#include <clocale>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz/expect.h"
#include "model/overview_reader.h"
#include "ui/top/canvas.h"
#include "ui/top/draw.h"

namespace {

using namespace stemtap;
using namespace stemtap::ui;

void ExpectFits(Model& model, int width, int height) {
  const Frame frame = DrawScreen(model, width, height, true);
  EXPECT(frame.lines.size() == static_cast<std::size_t>(height));
  for (const Line& line : frame.lines) {
    const std::string text = line.Text();
    EXPECT(ColumnsOf(text) <= width);
    for (const char c : text) EXPECT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool located = std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  EXPECT(located);
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const Result<model::Overview> overview = model::ParseOverview(json, "input");
  if (!overview.ok()) {
    ExpectOneLine(overview.error(), "input");
    return 0;
  }
  const std::string text = model::OverviewToJson(overview.value());
  const Result<model::Overview> again = model::ParseOverview(text, "again");
  EXPECT(again.ok() && model::OverviewToJson(again.value()) == text);
  const WatchedSession session = {"/s", SessionState::kRunning, &overview.value(), ""};
  for (const std::size_t count : {1, 2}) {
    Model model;
    model.Show(std::vector<WatchedSession>(count, session));
    for (const Key key : {Key::kNone, Key::kEnter, Key::kTab}) {
      model.Press({key});
      ExpectFits(model, 80, 24);
      ExpectFits(model, 17, 5);
    }
  }
  return 0;
}
