// SPDX-License-Identifier: Apache-2.0
// --help and the manual page.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/wrap.h"
#include "shm/session_env.h"
#include "stemtap/version.h"
#include "ui/cli/command_table.h"

namespace stemtap::ui {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 26;  // start of the descriptions

// Appends `text`, indented to `column`.
void Append(std::string& out, std::string_view text, std::size_t column) {
  AppendWrapped(out, text, column, kWidth);
}

// "-o, --output FILE"
std::string Heading(const OptionSpec& option) {
  std::string heading = fmt::format("  {}", fmt::join(option.names, ", "));
  if (option.is_positional() || option.type.empty())
    return heading + (option.is_repeated() ? " ..." : "");
  const std::string words = fmt::format(" {}", fmt::join(option.choices, "|"));
  const bool fits = heading.size() + words.size() <= kWidth;
  if (option.choices.empty()) {
    heading += " " + option.type;
  } else {
    heading += fits ? words : " WORD";  // the description lists them
  }
  return heading + (option.is_repeated() ? " ..." : "");
}

// Returns "(0 to 1024, default: 0)", or an empty string if there are no facts.
std::string Facts(const OptionSpec& option) {
  std::string facts;
  const auto add = [&facts](const std::string& fact) {
    facts += (facts.empty() ? "" : ", ") + fact;
  };
  if (!option.limits.empty()) add(option.limits);
  if (!option.fallback.empty()) add("default: " + option.fallback);
  if (!option.variable.empty()) add("or from " + option.variable);
  if (option.required && !option.is_positional()) add("required");
  return facts.empty() ? facts : "(" + facts + ")";
}

std::string Described(const OptionSpec& option) {
  std::string out = Heading(option);
  out += out.size() + 2 > kColumn ? '\n' + std::string(kColumn, ' ')
                                  : std::string(kColumn - out.size(), ' ');
  // The first line, then a list of the option's words and their meanings.
  const std::size_t first = std::min(option.help.find('\n'), option.help.size());
  const std::string facts = Facts(option);
  std::string head = option.help.substr(0, first);
  if (option.is_positional() && !option.choices.empty() && first == option.help.size()) {
    head += fmt::format(": {}", fmt::join(option.choices, ", "));
  }
  const bool colon = head.ends_with(':') && !facts.empty();
  if (colon) head.pop_back();
  if (!facts.empty()) head += (head.empty() ? "" : " ") + facts;
  Append(out, head + (colon ? ":" : ""), kColumn);
  for (std::size_t at = first; at < option.help.size();) {
    const std::size_t end = std::min(option.help.find('\n', at + 1), option.help.size());
    out += std::string(kColumn, ' ');
    Append(out, std::string_view(option.help).substr(at + 1, end - at - 1), kColumn + 2);
    at = end;
  }
  return out;
}

std::string Sections(const std::vector<OptionSpec>& options) {
  std::string arguments;
  std::string common;
  std::string advanced;
  for (const OptionSpec& option : options) {
    if (option.group == OptionGroup::kHidden) continue;
    std::string& section = option.is_positional()                   ? arguments
                           : option.group == OptionGroup::kAdvanced ? advanced
                                                                    : common;
    section += Described(option);
  }
  std::string out;
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  out += (advanced.empty() ? "\nOptions:\n" : "\nCommon options:\n") + common;
  if (!advanced.empty()) out += "\nAdvanced options:\n" + advanced;
  return out;
}

std::string CommandList(const CommandTable& table) {
  std::string out = "\nCommands:\n";
  for (const CommandSpec& command : table) {
    if (command.name.empty() || command.hidden) continue;
    out += fmt::format("  {:<{}}", command.name, 14);
    Append(out, command.help, 16);
  }
  return out;
}

}  // namespace

std::string HelpPage(const CommandTable& table, const CommandSpec& command) {
  if (command.name.empty()) {
    return fmt::format("{}\n\nUsage: stemtap COMMAND [options]\n{}{}", command.help,
                       CommandList(table), Sections(command.options));
  }
  std::string out = command.help;
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  out += fmt::format(".\n\nUsage: stemtap {} [options]", command.name);
  for (const OptionSpec& option : command.options) {
    if (!option.is_positional()) continue;
    const std::string one = option.names[0] + (option.is_repeated() ? "..." : "");
    out += option.required ? " " + one : " [" + one + "]";
  }
  return out + '\n' + Sections(command.options);
}

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

std::string TroffOption(const OptionSpec& option) {
  std::string heading;
  for (const std::string& name : option.names) {
    heading += fmt::format("{}\\fB{}\\fR", heading.empty() ? "" : ", ", Plain(name));
  }
  if (!option.is_positional() && !option.choices.empty()) {
    heading += fmt::format(" \\fI{}\\fR", Plain(fmt::format("{}", fmt::join(option.choices, "|"))));
  } else if (!option.is_positional() && !option.type.empty()) {
    heading += fmt::format(" \\fI{}\\fR", option.type);
  }
  if (option.is_repeated()) heading += " ...";
  std::string help = Plain(option.help);
  if (option.is_positional() && !option.choices.empty() &&
      option.help.find('\n') == std::string::npos) {
    help += ": " + Plain(fmt::format("{}", fmt::join(option.choices, ", ")));
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

bool IsDescribedAsShared(const OptionSpec& option, const CommandSpec* shared) {
  return option.shared && shared != nullptr &&
         std::any_of(shared->options.begin(), shared->options.end(),
                     [&](const OptionSpec& other) { return Same(option, other); });
}

std::string TroffSection(const CommandSpec& command, const CommandSpec* shared) {
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
    if (IsDescribedAsShared(option, shared)) {
      takes_shared = true;
    } else {
      out += TroffOption(option);
    }
  }
  if (takes_shared) out += ".PP\nThe sampling options below also apply.\n";
  return out;
}

}  // namespace

std::string ManualPage(const CommandTable& table) {
  const CommandSpec& program = table.front();
  const CommandSpec* shared = FirstWithShared(table);
  std::string out = fmt::format(
      ".\\\" Generated by 'stemtap manual' from the table of options.\n"
      ".TH STEMTAP 1 \"\" \"stemtap {}\" \"User Commands\"\n"
      ".SH NAME\nstemtap \\- live statistical sampling of GPU kernels\n"
      ".SH SYNOPSIS\n\\fBstemtap\\fR \\fIcommand\\fR [\\fIoption\\fR ...] [\\fIargument\\fR ...]\n"
      ".SH DESCRIPTION\n{}\n",
      kVersion, Plain(OneLine(program.help)));
  for (const OptionSpec& option : program.options) out += TroffOption(option);
  out += ".SH COMMANDS\n";
  for (const CommandSpec& command : table) {
    if (!command.name.empty()) out += TroffSection(command, shared);
  }
  if (shared != nullptr) {
    out += ".SH SAMPLING OPTIONS\n";
    for (const OptionSpec& option : shared->options) {
      if (option.shared) out += TroffOption(option);
    }
  }
  out += ".SH ENVIRONMENT\nThe injected library reads:\n";
  for (const shm::EnvSpec& variable : shm::kEnvTable) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", variable.name, Plain(variable.help));
    if (*variable.fallback != 0) out += fmt::format(".br\nDefault: {}\n", Plain(variable.fallback));
  }
  out +=
      ".SH EXIT STATUS\n0: success. 1: bad input, or a failure of the machine. 2: usage error.\n"
      "\\fBstemtap run\\fR: the exit status of the program, 128 + N if signal N ended it, 127 if "
      "it\n"
      "was not found, 126 if it could not be executed.\n"
      ".SH SEE ALSO\n\\fBnsys\\fR(1), \\fBncu\\fR(1); the guides in doc/stemtap, next to the\n"
      "directory of the manual pages.\n";
  return out;
}

}  // namespace stemtap::ui
