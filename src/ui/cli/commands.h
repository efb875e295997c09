// SPDX-License-Identifier: Apache-2.0
//
// One function per command. Each adds its subcommand and options to `app`. The callback of the
// selected subcommand runs inside CLI11's parse and stores the exit code in `exit_code`. Exit
// codes: 0 success, 1 input or machine failure, 2 usage error; `run` has additional codes
// (docs/formats/README.md).
#pragma once

#include <CLI/CLI.hpp>

namespace stemtap::ui {

void AddRun(CLI::App& app, int& exit_code);
void AddReplay(CLI::App& app, int& exit_code);
void AddPlan(CLI::App& app, int& exit_code);
void AddEvaluate(CLI::App& app, int& exit_code);
void AddConvert(CLI::App& app, int& exit_code);
void AddExport(CLI::App& app, int& exit_code);
void AddExtrapolate(CLI::App& app, int& exit_code);
void AddAlign(CLI::App& app, int& exit_code);
void AddReport(CLI::App& app, int& exit_code);
void AddMerge(CLI::App& app, int& exit_code);
void AddFormats(CLI::App& app, int& exit_code);
void AddGenerate(CLI::App& app, int& exit_code);
void AddDemo(CLI::App& app, int& exit_code);
void AddTop(CLI::App& app, int& exit_code);
void AddHelp(CLI::App& app, int& exit_code);  // covers the commands added before it
void AddVersion(CLI::App& app, int& exit_code);
void AddCompletion(CLI::App& app, int& exit_code);
void AddManual(CLI::App& app, int& exit_code);

}  // namespace stemtap::ui
