// SPDX-License-Identifier: Apache-2.0
//
// What the commands share in talking to their user.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/plan.h"

namespace stemtap::cli {

// Prints lines for people on stderr, escaped for a terminal (base/text.h). A failure to write is
// ignored.
void Tell(const std::string& text);

// Prints "stemtap: <message>" on stderr and returns the error's exit code.
int Fail(const Error& error);

// Prints each as "stemtap: warning: <message>" on stderr.
void Warn(const std::vector<std::string>& warnings);

// Prints data (JSON, a selection) on stdout as it is; 1 if that fails (a full disk behind a
// redirection), else 0.
int Print(const std::string& text);

// The same for lines for people, which are escaped for a terminal.
int PrintText(const std::string& text);

// Writes `content` into the file that the user named, whole or not at all: compressed as its name
// says, devices and pipes directly, "-" is standard output.
Status WriteOutput(const std::string& path, std::string_view content);

// Wrong use if an output is the same file as an input or as another output, also through links or
// under another name. The files of a session are inputs if the session, or one of them, is. Empty
// paths are skipped; "-" is the standard stream; devices and pipes may be read and written at once.
Status CheckOutputs(const std::vector<std::string>& outputs,
                    const std::vector<std::string>& inputs);

// The plan's totals as one JSON object and a newline, for --json.
std::string TotalsJson(const Plan& plan);

// "stemtap-<name>-<pid>": the directory of a session for which none was named.
std::string DefaultFolder(const std::string& name);

// Path of a file beside this program: BuildPath("lib/x.so") is ../lib/x.so of its directory.
std::string InstalledPath(const std::string& relative);

// Path of a library that is installed with this program, in lib, lib64 or Debian's lib/<machine>; where
// there is none, the path in lib.
std::string InstalledLibrary(const std::string& name);

}  // namespace stemtap::cli
