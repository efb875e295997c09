// SPDX-License-Identifier: Apache-2.0
#include "ui/top/draw.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <clocale>
#include <string>
#include <vector>

#include "ui/top/canvas.h"
#include "ui/top/made_overview.h"
#include "ui/top/shown.h"

namespace stemtap::ui {
namespace {

using test::MadeOverview;
using Names = std::vector<std::string>;

TEST_CASE("the end of a filter that is longer than the screen is visible") {
  Shown shown({MadeOverview()});
  shown.Type("/abcdefghijklmnopqrstuvwxyz");
  const Frame frame = DrawScreen(shown.model, 20, 10, false);
  CHECK(Has(frame.lines.back().Text(), "xyz"));
  CHECK(frame.lines.back().Text().find("xyz") + 3 == static_cast<std::size_t>(frame.input_column));
}

TEST_CASE("names are brief in the table and complete above the clusters") {
  MadeOverview made;
  const std::string name = "void b::gemm<b::Tile<64>, " + std::string(90, 'x') + ">(float*)";
  made.kernels = {{name, 1, 5}, {"void a::relu<z::Half>(int)", 1, 4}};
  Shown shown({made});
  CHECK(Has(shown.Screen(), " gemm<Tile<64~"));
  CHECK(!Has(shown.Screen(), "b::"));
  CHECK(Has(shown.Screen(), " relu<Half>\n"));
  shown.Type("n");
  CHECK(shown.Names() == Names{name, "void a::relu<z::Half>(int)"});
  shown.Type("/a::");  // the filter applies to the full name
  CHECK(shown.Names() == Names{"void a::relu<z::Half>(int)"});
  shown.model.Press({Key::kEscape});
  shown.Type("g");
  shown.model.Press({Key::kEnter});
  CHECK(Has(shown.Screen(), name.substr(0, 80) + "\n" + name.substr(80) + "\n1 launch,"));
  // A mangled name is shown in both forms.
  made.kernels[0].name = "_ZN3lib4gemmILi4EfEEvPf";
  Shown mangled({made});
  mangled.model.Press({Key::kEnter});
  CHECK(Has(mangled.Screen(), "\ngemm<4, float>\n_ZN3lib4gemmILi4EfEEvPf\n1 launch,"));
  // A very long name leaves room for the table below it.
  made.kernels[0].name = std::string(4000, 'y');
  Shown longest({made});
  longest.model.Press({Key::kEnter});
  for (const int height : {8, 12, 24}) {
    CAPTURE(height);
    CHECK(Has(longest.Screen(80, height), "y~\n"));
    CHECK(Has(longest.Screen(80, height), " closed\n"));
  }
}

TEST_CASE("names with the same beginning are cut to the parts that differ") {
  MadeOverview made;
  for (const char* functor : {"MulFunctor", "CUDAFunctor_add", "direct_copy_kernel_cuda"}) {
    made.kernels.push_back({std::string("void at::native::elementwise_kernel<128, 4, at::native::"
                                        "gpu_kernel_impl_nocast<at::native::") +
                                functor + "<float> >(int)>(int)",
                            1, 5});
  }
  Shown shown({made});
  const std::string screen = shown.Screen(80, 24);
  CHECK(Has(screen, "~MulFunctor"));
  CHECK(Has(screen, "~CUDAFunctor"));
  CHECK(Has(screen, "~direct"));
}

TEST_CASE("processes are shown with the reason why they are disabled") {
  MadeOverview made;
  made.processes =
      R"([{"pid":77,"program":"a","state":"disabled","reason":"no \u001b[5m CUPTI"},{"pid":78}])";
  Shown shown({made});
  CHECK(Has(shown.Screen(), "1 of 2 processes are not recorded: no \\x1B[5m CUPTI\n"));
  shown.model.Press({Key::kTab});
  const std::string screen = shown.Screen();
  CHECK(Has(screen, "disabled"));
  CHECK(Has(screen, "no \\x1B[5m CUPTI"));
  CHECK(!Has(screen, "\x1B"));
  shown.model.Press({Key::kTab});
  CHECK(shown.model.view() == View::kKernels);
}

TEST_CASE("a large screen shows charts above the table, and a small screen only the table") {
  MadeOverview made;
  made.activity =
      R"({"devices":2,"start_ns":0,"width_ns":1000000000,"count":4,"slices":[[0,9,9,2000000000],[3,9,9,1000000000]]})";
  made.kernels = Many(100);
  Shown shown({made});
  const auto title_line = [&](int width, int height) {
    const std::vector<Line> lines = DrawScreen(shown.model, width, height, false).lines;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (Has(lines[i].Text(), "launches per second")) return static_cast<int>(i);
    }
    return -1;
  };
  CHECK(title_line(80, 24) == -1);
  CHECK(title_line(100, 45) == -1);
  CHECK(title_line(160, 30) == -1);
  CHECK(title_line(160, 37) == -1);
  CHECK(title_line(160, 38) == 5);
  CHECK(title_line(160, 45) == 5);
  const std::vector<Line> lines = DrawScreen(shown.model, 160, 45, false).lines;
  CHECK(Has(lines[5].Text(), "GPU busy, mean of 2 devices"));
  CHECK(Has(lines[5].Text(), "bound (log), requested: 5.00 %"));
  CHECK(Has(lines[6].Text(), "      10|"));
  CHECK(Has(lines[9].Text(), "       5|"));
  CHECK(Has(lines[11].Text(), "       0|"));
  CHECK(Has(lines[6].Text(), "   100 %|##########"));
  CHECK(Has(lines[12].Text(), "0" + std::string(39, ' ') + "0:04"));
  CHECK(lines[12].Text().ends_with("0:12"));
  CHECK(lines[13].Text().empty());
  CHECK(Has(lines[14].Text(), "LAUNCHES"));
  CHECK(Has(lines[43].Text(), "kernel_28"));
  for (const Line& line : lines) CHECK(ColumnsOf(line.Text()) <= 160);
  // If there are few kernels, the charts use the lines that the table does not need.
  made.kernels = Many(3);
  shown.Again({made});
  const std::vector<Line> few = DrawScreen(shown.model, 160, 45, false).lines;
  CHECK(Has(few[5 + 14 + 3].Text(), "LAUNCHES"));
  // The clusters and the help need the space.
  shown.model.Press({Key::kEnter});
  CHECK(title_line(160, 45) == -1);
  shown.model.Press({Key::kEscape});
  shown.Type("h");
  CHECK(title_line(160, 45) == -1);
  shown.Type("h");
  // Without activity, the other two charts use the space.
  made.activity.clear();
  shown.Again({made});
  CHECK(title_line(160, 45) == 5);
  CHECK(!Has(shown.Screen(160, 45), "GPU busy"));
  // The launches observed are 100/s until 1 s, 225/s until 5 s, and 200/s until 10 s.
  CHECK(Has(shown.Screen(160, 45), "     240|"));
}

TEST_CASE("the only kernel has all of the time") {
  MadeOverview made;
  made.kernels = {{"alone", 1000, 6000000}};
  Shown shown({made});
  CHECK(Has(shown.Screen(), "\n100.0 % "));
  made.kernels.push_back({"tiny", 1, 6});
  shown.Again({made});
  CHECK(Has(shown.Screen(), "\n100.0 % "));
  made.kernels[1].duration_ns = 6000;
  shown.Again({made});
  CHECK(Has(shown.Screen(), "\n99.90 % "));
}

TEST_CASE("screens fit any terminal size and any names") {
  REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr);
  MadeOverview made;
  made.kernels = Many(50);
  made.kernels[0].name = "\\u0007\\u001b]0;owned\\u0007\\u4e2d\\u6587\\u4e2d\\u6587\\u202e";
  made.kernels[1].name = std::string(5000, 'x');
  made.command = R"(["\u001b[2J", "\n\n"])";
  made.processes = R"([{"pid":1,"program":"\u001b[2J","state":"\u0007","reason":"\u4e2d"}])";
  Shown shown({made, made});
  for (const std::string keys : {"", "]", "/x", "h", "s"}) {
    shown.Type(keys);
    for (const Key key : {Key::kNone, Key::kEnter, Key::kTab, Key::kTab}) {
      shown.model.Press({key});
      for (const int height : {0, 1, 2, 3, 4, 5, 7, 24, 60}) {
        for (const int width : {0, 1, 2, 3, 10, 20, 40, 61, 80, 200}) {
          const Frame frame = DrawScreen(shown.model, width, height, true);
          CAPTURE(width);
          CAPTURE(height);
          CHECK(static_cast<int>(frame.lines.size()) == (width > 0 ? height : 0));
          for (const Line& line : frame.lines) {
            const std::string text = line.Text();
            CHECK(ColumnsOf(text) <= width);
            for (const char c : text) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
          }
          CHECK(frame.input_column < std::max(width, 1));
        }
      }
    }
    shown.model.Press({Key::kEscape});
    shown.model.Press({Key::kEscape});
  }
}

TEST_CASE("a screen with few lines shows kernels before figures") {
  Shown shown({MadeOverview()});
  const std::string screen = shown.Screen(80, 6);
  CHECK(Has(screen, "gemm_alpha"));
  CHECK(Has(screen, "relu"));
  CHECK(Has(screen, "q quit"));
  // A screen with few lines shows dropped records first, then the quality of the sample.
  CHECK(Has(shown.Screen(80, 7), "\nbound 6.10 %"));
  MadeOverview made;
  made.dropped = 12;
  shown.Again({made});
  CHECK(Has(shown.Screen(80, 7), "\ndropped 12"));
}

TEST_CASE("an ended session without launches is not reported as waiting for launches") {
  MadeOverview made;
  made.kernels.clear();
  made.processes = "[]";
  made.state = "ended";
  Shown shown({made});
  CHECK(Has(shown.Screen(), "\nno kernel was recorded\n"));
  shown.model.Press({Key::kTab});
  CHECK(Has(shown.Screen(), "\nno process was traced\n"));
}

TEST_CASE("a snapshot contains the full name of every kernel") {
  MadeOverview made;
  made.kernels = Many(300);
  made.kernels[299].name = std::string(400, 'y');
  Shown shown({made});
  const std::string text = Snapshot(shown.model, false);
  CHECK(Has(text, "kernel_298"));
  CHECK(Has(text, std::string(400, 'y')));
  CHECK(Has(text, "4242 recording"));
  CHECK(!Has(text, " \n"));
}

TEST_CASE("--sort, --filter and --top choose the kernels of the screen and of a snapshot") {
  MadeOverview made;
  made.kernels = Many(300);
  Shown shown({made});
  model::RowChoice choice;
  choice.sort = "name";
  choice.filter = "^kernel_2[0-9]*$";
  choice.top = 3;
  shown.model.Choose(choice);
  CHECK(shown.model.sorted_by() == Order::kName);
  CHECK(shown.model.order().size() == 3);
  CHECK(shown.model.left_out().filtered == 189);
  CHECK(shown.model.left_out().below_top == 108);
  const std::string text = Snapshot(shown.model, false, 80);
  CHECK(Has(text, "kernel_2\n"));
  CHECK(Has(text, "kernel_20\n"));
  CHECK(Has(text, "kernel_200\n"));
  CHECK(!Has(text, "kernel_201\n"));
  CHECK(Has(text, "\n... and 108 more kernels, and 189 kernels not matched by --filter\n"));
  CHECK(Has(shown.Screen(120, 20), "--filter: ^kernel_2[0-9]*$"));
  // The filter that is typed applies in addition.
  shown.model.Press({Key::kCharacter, '/'});
  for (const char c : std::string("21")) {
    shown.model.Press({Key::kCharacter, static_cast<char32_t>(c)});
  }
  shown.model.Press({Key::kEnter});
  CHECK(shown.model.order().size() == 3);
  CHECK(shown.model.left_out().below_top == 9);  // of 21, 210 to 219 and 221
  choice.filter = "softmax";
  shown.model.Choose(choice);
  CHECK(shown.model.order().empty());
}

}  // namespace
}  // namespace stemtap::ui
