// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "ui/cli/command_table.h"

namespace stemtap::ui {
namespace {

bool TakesDirectory(const OptionSpec& option) {
  return option.type == "DIR";
}

// A TEXT option without choices may be a file.
bool TakesFile(const OptionSpec& option) {
  return option.choices.empty() && (option.type == "FILE" || option.type == "TEXT");
}

std::string Words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Returns the first line of a help text for use in single quotes. `quote` is the shell's escape for
// a single quote. Omits colons and brackets, which separate fields in zsh's _arguments.
std::string Line(std::string_view help, std::string_view quote) {
  std::string out;
  for (const char c : help.substr(0, help.find('\n'))) {
    if (c == '\'') {
      out += quote;
    } else if (c == ':') {
      out += ',';
    } else if (c != '[' && c != ']' && c != '\\') {
      out += c;
    }
  }
  return out;
}

// Returns what the bash function offers for a value.
std::string BashOffer(const OptionSpec& option) {
  if (!option.choices.empty()) return fmt::format("words='{}'", Words(option.choices));
  return TakesDirectory(option) ? "paths=-d" : TakesFile(option) ? "paths=-f" : ":";
}

std::string Bash(const CommandTable& table) {
  std::string commands;
  std::string cases;
  for (const CommandSpec& command : table) {
    std::string options;
    std::string values;
    std::string rest = ":";
    for (const OptionSpec& option : command.options) {
      // The previous word may be a value of an option with several values.
      if (option.is_positional() || option.is_repeated()) rest = BashOffer(option);
      if (option.is_positional()) continue;
      options += (options.empty() ? "" : " ") + Words(option.names);
      if (option.type.empty()) continue;
      std::string pattern;
      for (const std::string& name : option.names) pattern += (pattern.empty() ? "" : " | ") + name;
      values += fmt::format("        {}) {} ;;\n", pattern, BashOffer(option));
    }
    if (command.name.empty()) continue;
    commands += (commands.empty() ? "" : " ") + command.name;
    cases += fmt::format(
        "    {})\n      options='{}'\n      case $previous in\n{}        *) {} ;;\n      esac\n"
        "      ;;\n",
        command.name, options, values, rest);
  }
  std::string program_options;
  for (const OptionSpec& option : table.front().options) {
    program_options += (program_options.empty() ? "" : " ") + Words(option.names);
  }
  return fmt::format(R"(# bash completion for stemtap, made by 'stemtap completion bash'.
_stemtap() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous='' command='' words='' options='' paths='' i
  COMPREPLY=()
  [[ $COMP_CWORD == 0 ]] || previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  # bash makes three words of --option=value.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' && $COMP_CWORD -ge 2 ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} == -- && $command == run ]]; then
      # The program and its arguments.
      if [[ $((i + 1)) == "$COMP_CWORD" ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      elif declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
    [[ -n $command || ${{COMP_WORDS[i]}} == -* ]] || command=${{COMP_WORDS[i]}}
  done
  case $command in
    '') words='{}' options='{}' ;;
{}  esac
  [[ $current != -* ]] || {{ words=$options; paths=''; }}
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [[ -n $paths ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$paths" -- "$current")
  fi
}}
complete -F _stemtap stemtap
)",
                     commands, program_options, cases);
}

// _arguments uses colons as separators.
std::string ZshWords(const std::vector<std::string>& words) {
  std::string out;
  for (const char c : Words(words)) out += c == ':' ? "\\:" : std::string(1, c);
  return out;
}

std::string Zsh(const CommandTable& table) {
  constexpr std::string_view kQuote = "'\\''";
  std::string commands;
  std::string cases;
  for (const CommandSpec& command : table) {
    std::string arguments;
    std::string rest;
    for (const OptionSpec& option : command.options) {
      const std::string action = !option.choices.empty()
                                     ? fmt::format("({})", ZshWords(option.choices))
                                 : TakesDirectory(option) ? "_files -/"
                                 : TakesFile(option)      ? "_files"
                                                          : " ";
      if (option.is_positional()) {
        rest += command.name == "run"
                    ? " \\\n        '*:::program: _normal'"
                    : fmt::format(" \\\n        '{}:{}:{}'", option.is_repeated() ? "*" : "",
                                  option.names[0], action);
        continue;
      }
      for (const std::string& name : option.names) {
        // With "=", the value may follow the "=" or be the next word.
        const bool equals = !option.type.empty() && name.starts_with("--");
        arguments += fmt::format(" \\\n        '{}{}{}[{}]", option.is_repeated() ? "*" : "", name,
                                 equals ? "=" : "", Line(option.help, kQuote));
        arguments += option.type.empty() ? "'" : fmt::format(":value:{}'", action);
      }
    }
    if (command.name.empty()) continue;
    commands += fmt::format("    '{}:{}'\n", command.name, Line(command.help, kQuote));
    // The words after -- are another command line.
    const char* const other =
        "      local -i dashes=${words[(i)--]}\n"
        "      if (( dashes < CURRENT )); then\n"
        "        shift $dashes words\n"
        "        (( CURRENT -= dashes ))\n"
        "        _normal\n"
        "        return\n"
        "      fi\n";
    cases += fmt::format("    {})\n{}      _arguments{}{} ;;\n", command.name,
                         command.name == "run" ? other : "", arguments, rest);
  }
  return fmt::format(R"(#compdef stemtap
# zsh completion for stemtap, made by 'stemtap completion zsh'.
_stemtap() {{
  # Not "commands": that is zsh's own table of what can be run.
  local -a stemtap_commands
  stemtap_commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command stemtap_commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{}  esac
}}
if [[ $funcstack[1] == _stemtap ]]; then _stemtap "$@"; else compdef _stemtap stemtap; fi
)",
                     commands, cases);
}

std::string Fish(const CommandTable& table) {
  constexpr std::string_view kQuote = "\\'";
  std::string out = "# fish completion for stemtap, made by 'stemtap completion fish'.\n";
  for (const CommandSpec& command : table) {
    const std::string when = command.name.empty()
                                 ? "__fish_use_subcommand"
                                 : fmt::format("__fish_seen_subcommand_from {}", command.name);
    if (!command.name.empty()) {
      out += fmt::format("complete -c stemtap -n __fish_use_subcommand -f -a {} -d '{}'\n",
                         command.name, Line(command.help, kQuote));
    }
    // fish offers files by default; -f disables it.
    bool files = command.name.empty();
    for (const OptionSpec& option : command.options) {
      files = files || ((option.is_positional() || option.is_repeated()) && TakesFile(option));
    }
    if (!files) out += fmt::format("complete -c stemtap -n '{}' -f\n", when);
    if (command.name == "run") {
      out +=
          "complete -c stemtap -n 'test (commandline -opc)[-1] = --' -a "
          "'(__fish_complete_command)'\n";
    }
    for (const OptionSpec& option : command.options) {
      if (option.is_positional()) {
        if (option.choices.empty()) continue;
        out += fmt::format("complete -c stemtap -n '{}' -a '{}'\n", when, Words(option.choices));
        continue;
      }
      out += fmt::format("complete -c stemtap -n '{}'", when);
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.type.empty()) out += TakesFile(option) ? " -r" : " -x";
      if (TakesDirectory(option)) out += " -a '(__fish_complete_directories)'";
      if (!option.choices.empty()) out += fmt::format(" -a '{}'", Words(option.choices));
      out += fmt::format(" -d '{}'\n", Line(option.help, kQuote));
    }
  }
  return out;
}

}  // namespace

std::string CompletionScript(const CommandTable& table, const std::string& shell) {
  if (shell == "zsh") return Zsh(table);
  return shell == "fish" ? Fish(table) : Bash(table);
}

}  // namespace stemtap::ui
