// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "shm/session_env.h"
#include "stemtap/version.h"
#include "ui/cli/command_table.h"

namespace stemtap::ui {
namespace {

// Escapes text for troff: hyphens can be copied, and no line starts with a request.
std::string Plain(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.br\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::string Described(const OptionSpec& option) {
  std::string heading;
  for (const std::string& name : option.names) {
    heading += fmt::format("{}\\fB{}\\fR", heading.empty() ? "" : ", ", Plain(name));
  }
  if (!option.is_positional() && !option.choices.empty()) {
    heading += fmt::format(" \\fI{}\\fR", Plain(Joined(option.choices, "|")));
  } else if (!option.is_positional() && !option.type.empty()) {
    heading += fmt::format(" \\fI{}\\fR", option.type);
  }
  if (option.is_repeated()) heading += " ...";
  std::string help = Plain(option.help);
  if (option.is_positional() && !option.choices.empty() &&
      option.help.find('\n') == std::string::npos) {
    help += ": " + Plain(Joined(option.choices, ", "));
  }
  if (!option.limits.empty()) help += fmt::format(" ({})", Plain(option.limits));
  if (!option.fallback.empty()) help += fmt::format("\n.br\nDefault: {}", Plain(option.fallback));
  if (option.required && !option.is_positional()) help += "\n.br\nRequired.";
  return fmt::format(".TP\n{}\n{}\n", heading, help);
}

bool Same(const OptionSpec& a, const OptionSpec& b) {
  return a.names == b.names && a.help == b.help && a.type == b.type && a.choices == b.choices &&
         a.limits == b.limits && a.fallback == b.fallback;
}

// Returns the first command with the options that several commands share, the sampling options.
const CommandSpec* FirstWithShared(const CommandTable& table) {
  for (const CommandSpec& command : table) {
    if (std::any_of(command.options.begin(), command.options.end(),
                    [](const OptionSpec& option) { return option.shared; }))
      return &command;
  }
  return nullptr;
}

bool DescribedAsShared(const OptionSpec& option, const CommandSpec* shared) {
  return option.shared && shared != nullptr &&
         std::any_of(shared->options.begin(), shared->options.end(),
                     [&](const OptionSpec& other) { return Same(option, other); });
}

std::string Section(const CommandSpec& command, const CommandSpec* shared) {
  std::string synopsis;
  for (const OptionSpec& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string one =
        fmt::format("\\fI{}\\fR{}", Plain(option.names[0]), option.is_repeated() ? " ..." : "");
    synopsis += option.required ? " " + one : " [" + one + "]";
  }
  std::string out =
      fmt::format(".SS \"stemtap {}\"\n\\fBstemtap {}\\fR [\\fIoptions\\fR]{}\n.PP\n{}.\n",
                  command.name, command.name, synopsis, Plain(command.help));
  bool takes_shared = false;
  for (const OptionSpec& option : command.options) {
    if (option.names.back() == "--help") continue;
    if (DescribedAsShared(option, shared)) {
      takes_shared = true;
    } else {
      out += Described(option);
    }
  }
  if (takes_shared) out += ".PP\nAnd the options of sampling, below.\n";
  return out;
}

}  // namespace

std::string ManualPage(const CommandTable& table) {
  const CommandSpec& program = table.front();
  const CommandSpec* shared = FirstWithShared(table);
  std::string out = fmt::format(
      ".\\\" Made by 'stemtap manual' from the tables that read the command line.\n"
      ".TH STEMTAP 1 \"\" \"stemtap {}\" \"User Commands\"\n"
      ".SH NAME\nstemtap \\- live statistical sampling of GPU kernels\n"
      ".SH SYNOPSIS\n\\fBstemtap\\fR \\fIcommand\\fR [\\fIoption\\fR ...] [\\fIargument\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n",
      kVersion, Plain(OneLine(program.help)));
  for (const OptionSpec& option : program.options) out += Described(option);
  out += ".SH COMMANDS\n";
  for (const CommandSpec& command : table) {
    if (!command.name.empty()) out += Section(command, shared);
  }
  if (shared != nullptr) {
    out += ".SH OPTIONS OF SAMPLING\n";
    for (const OptionSpec& option : shared->options) {
      if (option.shared) out += Described(option);
    }
  }
  out += ".SH ENVIRONMENT\nThe injected library reads:\n";
  for (const shm::EnvSpec& variable : shm::kEnvTable) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", variable.name, Plain(variable.help));
    if (*variable.fallback != 0) out += fmt::format(".br\nDefault: {}\n", Plain(variable.fallback));
  }
  out +=
      ".SH EXIT STATUS\n0: success. 1: a failure of input or machine. 2: wrong use.\n"
      "\\fBstemtap run\\fR: the program's own, 128 + N where signal N ended it, 127 where it was "
      "not\n"
      "found, 126 where it could not be executed.\n"
      ".SH SEE ALSO\n\\fBnsys\\fR(1), \\fBncu\\fR(1); the guides in the folder doc/stemtap beside "
      "that "
      "of the manual pages.\n";
  return out;
}

}  // namespace stemtap::ui
