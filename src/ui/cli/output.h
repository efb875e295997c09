// SPDX-License-Identifier: Apache-2.0
//
// User-facing output helpers shared by the commands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/plan.h"
#include "session/flags/command_line.h"

namespace stemtap::ui {

// Prints text for people to stderr, escaped for a terminal (base/text.h). Ignores write failures.
void PrintMessage(const std::string& text);

// Prints "stemtap: <message>" to stderr and returns the error's exit code.
int Fail(const Error& error);

// Prints "next: <command>" to stderr: what most users run after this command. The words that come
// from outside are quoted for a shell (base/quoting.h).
void PrintNext(const std::string& command);

// Calls PrintNext with `command`, the file `output` and `options`, if the user can read the file
// again: not for standard output, devices and pipes.
void PrintNextFor(const std::string& output, std::string_view command, std::string_view options);

// Calls PrintNextFor for a command that makes the file `made` of `output`. Prints nothing if these
// are the same file.
void PrintNextMaking(const std::string& made, const std::string& output, std::string_view command);

// Prints each warning as "stemtap: warning: <message>" to stderr.
void Warn(const std::vector<std::string>& warnings);

// Prints data (CSV, a selection) to stdout, unchanged unless stdout is a terminal, for which it is
// escaped: programs need exact names, and names must not control a terminal. Returns 0, or 1 if the
// write fails (for example, redirected to a full disk).
int Print(const std::string& text);

// Prints JSON to stdout, with the escapes of JSON. Returns the same codes as Print.
int PrintJson(const std::string& json);

// Prints text for people to stdout, escaped for a terminal. Returns the same codes as Print.
int PrintText(const std::string& text);

// Returns the width of lines that are printed with PrintText: the columns of the terminal that
// stdout is; if it does not report them, the variable COLUMNS, or 80. kUnlimitedWidth if stdout is
// no terminal: other programs read whole names.
std::size_t OutputWidth();

// Writes `content` to the file that the user named, atomically and compressed according to its
// name. Devices and pipes are written directly; "-" is standard output.
Status WriteOutput(const std::string& path, std::string_view content);

// Returns a usage error if an output is the same file as an input or another output, including
// through links or other names. If an input is a session or a file of a session, all files of that
// session are inputs. Empty paths are skipped; "-" is the standard stream; devices and pipes may be
// read and written at the same time.
Status CheckOutputs(const std::vector<std::string>& outputs,
                    const std::vector<std::string>& inputs);

// Returns whether `path` is a file that can be read again: no directory, device or pipe.
bool IsFile(const std::string& path);

// Returns the plan's totals as one JSON object and a newline, for --json.
std::string TotalsJson(const model::Plan& plan);

// Adds --force, which replaces the session in the directory that --output names.
void AddForce(session::CommandSpec& command, bool* force);

// Adds --trace-rate and --slowdown, which set `rates`.
void AddSimulatorRates(session::CommandSpec& command, model::SimulatorRates* rates);

// Returns "stemtap-<name>-<pid>", the default session directory.
std::string DefaultDirectory(const std::string& name);

// Returns the path of an installed file relative to this program's directory:
// InstalledPath("lib/x.so") is ../lib/x.so.
std::string InstalledPath(const std::string& relative);

// Returns the path of a library that is installed with this program, in lib, lib64 or Debian's
// lib/<machine>; if it is in none of them, returns the path in lib.
std::string InstalledLibrary(const std::string& name);

}  // namespace stemtap::ui
