// SPDX-License-Identifier: Apache-2.0
//
// Writes profiling runs of Nsight Compute. docs/formats/ncu-filters.md describes how ncu counts.
//
// Patterns contain no blanks, quotes, backslashes or colons: ':' separates the fields of
// --kernel-id, and the other characters need quoting in response files, whose rules are not
// documented. A special character is written in brackets, "[(]". A character that is not allowed
// there is matched by "."; the writer checks that the pattern matches no other kernel of the
// profile.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/quoting.h"
#include "base/text.h"
#include "formats/exporters/consumers.h"

namespace stemtap::formats {
namespace {

bool Contains(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

NcuNames GuessBase(const std::vector<std::string>& names) {
  NcuNames base = NcuNames::kFunction;
  for (const std::string& name : names) {
    if (name.starts_with("_Z")) return NcuNames::kMangled;
    if (Contains(name, "(") || Contains(name, "<")) base = NcuNames::kDemangled;
  }
  return base;
}

// Returns the options of ncu that print the names of the profile, which extrapolate looks for. By
// default, ncu prints demangled names without namespaces and casts.
std::string_view PageNames(NcuNames base) {
  return base == NcuNames::kMangled     ? "--print-kernel-base mangled"
         : base == NcuNames::kDemangled ? "--rename-kernels no"
                                        : "--print-kernel-base function";
}

std::string_view BaseName(NcuNames base) {
  return base == NcuNames::kMangled     ? "mangled"
         : base == NcuNames::kDemangled ? "demangled"
                                        : "function";
}

// Characters that need no escaping in a pattern.
bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         Contains("_<>,&=-", std::string_view(&c, 1));
}

bool IsSpecial(char c) {
  return Contains("()*+?[]{}|.$", std::string_view(&c, 1));
}

std::string Pattern(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (IsPlain(c)) {
      pattern += c;
    } else if (IsSpecial(c)) {
      pattern.append("[").append(1, c).append("]");
    } else {
      pattern += '.';
    }
  }
  return pattern;
}

bool IsAscii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c > 0 && c < 0x7F; });
}

// Returns whether ncu may spell the demangled `name` differently: NVIDIA's demangler writes
// "(int)128" and "float *", other demanglers write "128" and "float*".
bool SpellingInDoubt(std::string_view name) {
  for (const std::string_view part : {"(anonymous namespace)", "{lambda", "'lambda", "{default arg",
                                      "decltype", "true", "false", "> >"}) {
    if (Contains(name, part)) return true;
  }
  bool opened = false;  // at the beginning of an argument: "<128", ", -4"
  char before = ' ';
  for (const char c : name) {
    if (opened && (c == '-' || (c >= '0' && c <= '9'))) return true;
    if (c != ' ') opened = c == '<' || c == ',';
    // ncu writes float* and float const& as float * and const float &.
    if ((c == '*' || c == '&') && !Contains(" *&(", std::string_view(&before, 1))) return true;
    before = c;
  }
  return Contains(name, "<") && !Contains(name, "(");
}

// Combines the launches of one run: "3", or "(3|7)" as a regular expression, counted from 1, within
// the size limit.
std::vector<std::string> OccurrencePatterns(const std::vector<std::uint64_t>& occurrences,
                                            std::size_t max_bytes) {
  std::vector<std::string> patterns;
  for (const std::uint64_t occurrence : occurrences) {
    const std::string number = fmt::format("{}", occurrence + 1);
    if (patterns.empty() || patterns.back().size() + number.size() + 3 > max_bytes) {
      patterns.push_back("^(" + number);
    } else {
      patterns.back() += "|" + number;
    }
  }
  for (std::string& pattern : patterns) pattern += ")$";
  return patterns;
}

std::string ReportName(const CountingOptions& counting) {
  return counting.device ? fmt::format("stemtap-device{}", *counting.device) : "stemtap";
}

struct Run {
  std::string comment;
  std::vector<std::string> options;
};

// The planned launches of one kernel name.
struct NameSamples {
  std::vector<std::uint64_t> occurrences;
  std::vector<std::uint64_t> ids;
  bool uniform = true;
};

class Writer {
 public:
  explicit Writer(const ExportInput& input) : input_(input), options_(input.options) {}

  Result<Exported> Write() {
    const CountedPlan& counted = input_.counted;
    if (!counted.from_profile && options_.ncu_runs == NcuRuns::kKernels) {
      return Error{"--mode kernels: counts the launches of each kernel; expected --profile", 2};
    }
    std::map<std::string, NameSamples> names;
    for (const CountedSample& s : counted.samples) {
      NameSamples& name = names[s.name];
      // The same launch may occur twice.
      if (!name.ids.empty() && name.ids.back() == s.id) continue;
      name.ids.push_back(s.id);
      name.occurrences.push_back(s.occurrence);
      name.uniform = name.uniform && s.uniform;
    }
    base_ = options_.ncu_names == NcuNames::kGuess ? GuessBase(KnownNames()) : options_.ncu_names;
    std::vector<std::uint64_t> by_window;
    for (const auto& [name, samples] : names) {
      if (ByWindow(name, samples)) {
        by_window.insert(by_window.end(), samples.ids.begin(), samples.ids.end());
        continue;
      }
      STEMTAP_TRY(CheckName(name));
      AddKernel(name, samples.occurrences);
    }
    const bool has_filters = !runs_.empty();
    std::sort(by_window.begin(), by_window.end());
    const std::vector<IdRange> windows = Ranges(by_window);
    for (const IdRange& window : windows) {
      runs_.push_back({fmt::format("launches {} to {}", window.first, window.last),
                       {"--launch-skip", fmt::format("{}", window.first), "--launch-count",
                        fmt::format("{}", window.last - window.first + 1)}});
    }
    Exported exported = Script();
    if (!windows.empty() && options_.ncu_runs == NcuRuns::kAuto && counted.from_profile) {
      exported.notes.push_back(
          fmt::format("{} of the runs are windows of launches, because versions of ncu count or "
                      "spell these kernels differently; if your version counts the launches of "
                      "each kernel, --mode kernels needs fewer runs",
                      windows.size()));
    }
    if (has_filters && base_ == NcuNames::kDemangled) {
      exported.notes.push_back(
          "filters contain demangled names, as ncu prints them with --rename-kernels no; "
          "simplified names match nothing");
    }
    return exported;
  }

 private:
  // Returns the names of the profile, or without one, of the samples.
  std::vector<std::string> KnownNames() const {
    std::vector<std::string> names = input_.counted.names;
    if (!names.empty()) return names;
    for (const CountedSample& sample : input_.counted.samples) names.push_back(sample.name);
    return names;
  }

  bool ByWindow(const std::string& name, const NameSamples& samples) const {
    if (options_.ncu_runs != NcuRuns::kAuto) return options_.ncu_runs == NcuRuns::kWindows;
    const bool in_doubt = base_ == NcuNames::kDemangled && options_.ncu_names == NcuNames::kGuess &&
                          SpellingInDoubt(name);
    return !input_.counted.from_profile || !samples.uniform || in_doubt || !IsAscii(name) ||
           !Other(name).empty() || Pattern(name).size() > MaxNameBytes();
  }

  // Returns another kernel of the profile that the pattern of `name` also matches.
  std::string Other(const std::string& name) const {
    for (const std::string& other : input_.counted.names) {
      if (other.size() != name.size() || other == name) continue;
      bool matched = true;
      for (std::size_t i = 0; i < name.size() && matched; ++i) {
        matched = other[i] == name[i] || (!IsPlain(name[i]) && !IsSpecial(name[i]));
      }
      if (matched) return other;
    }
    return {};
  }

  Status CheckName(const std::string& name) const {
    const std::string shown = EscapeForTerminal(name.substr(0, 80));
    if (!IsAscii(name)) {
      return Error{fmt::format(
          "'{}' is not ASCII, so ncu filters may not match it; expected --mode windows", shown)};
    }
    const std::string other = Other(name);
    if (!other.empty()) {
      return Error{
          fmt::format("no filter of ncu distinguishes '{}' from '{}'; expected --mode windows",
                      shown, EscapeForTerminal(other.substr(0, 80)))};
    }
    if (Pattern(name).size() > MaxNameBytes()) {
      return Error{
          fmt::format("'{}' is too long for a filter of ncu; expected --mode windows", shown)};
    }
    return Success{};
  }

  // Names use at most half of an argument, which leaves room for their launches.
  std::size_t MaxNameBytes() const { return options_.max_value_bytes / 2; }

  // One filter per kernel: ncu counts the launches that match a filter, so several kernels in one
  // filter would share a count (observed with ncu 2024.2 in import mode).
  void AddKernel(const std::string& name, const std::vector<std::uint64_t>& occurrences) {
    const std::string filter = fmt::format("::regex:^{}$:", Pattern(name));
    std::vector<std::string> options = {"--kernel-name-base", std::string(BaseName(base_))};
    // By default, ncu removes namespaces and casts from demangled names.
    if (base_ == NcuNames::kDemangled) options.insert(options.end(), {"--rename-kernels", "no"});
    for (const std::string& launches :
         OccurrencePatterns(occurrences, options_.max_value_bytes - filter.size())) {
      Run run = {EscapeForTerminal(name), options};
      run.options.insert(run.options.end(), {"--kernel-id", filter + launches});
      runs_.push_back(std::move(run));
    }
  }

  Exported Script() const {
    Exported exported;
    exported.ids = Ids(input_.counted).size();
    exported.runs = runs_.size();
    const std::string comment = fmt::format(
        "# NCU: the profiler (ncu). NCU_OPTIONS: more options of ncu, e.g. '--set full'. REPORT: "
        "name\n"
        "# of the reports, without the number of the run. Each report is also printed as a table, "
        "for\n"
        "# stemtap extrapolate {} {}\n",
        options_.plan, NcuResultsOptions(options_.counting));
    std::string text = ScriptHead("Nsight Compute", comment, runs_.size());
    text += fmt::format(
        ": \"${{NCU:=ncu}}\" \"${{REPORT:={}}}\"\n"
        "rm -f \"$REPORT\".[0-9]*.csv\n"
        "table() {{\n"
        "  if [ -e \"$REPORT.$1.ncu-rep\" ]; then\n"
        "    LC_ALL=C \"$NCU\" --import \"$REPORT.$1.ncu-rep\" --csv --page raw --print-units base "
        "{} "
        ">\"$REPORT.$1.csv\"\n"
        "  else\n"
        "    echo \"$0: run $1 profiled none of its launches\" >&2\n"
        "  fi\n"
        "}}\n",
        ReportName(options_.counting), PageNames(base_));
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Run& run = runs_[i];
      std::string rsp;
      text += fmt::format("\n# {}\nrm -f \"$REPORT.{}.ncu-rep\"\n\"$NCU\"", run.comment, i + 1);
      for (const std::string& option : run.options) {
        text += " " + ShellWord(option);
        rsp += option + "\n";
      }
      text += fmt::format(" \\\n  -f -o \"$REPORT.{0}\" $NCU_OPTIONS \"$@\"\ntable {0}\n", i + 1);
      exported.files.push_back({fmt::format(".{}.rsp", i + 1), std::move(rsp)});
    }
    exported.files.insert(exported.files.begin(), ExportedFile{"", std::move(text)});
    return exported;
  }

  const ExportInput& input_;
  const ExportOptions& options_;
  NcuNames base_ = NcuNames::kFunction;
  std::vector<Run> runs_;
};

}  // namespace

std::string NcuResultsOptions(const CountingOptions& counting) {
  const std::string device = counting.device ? fmt::format("--device {} ", *counting.device) : "";
  return fmt::format("{}--results {}.*.csv", device, ReportName(counting));
}

Result<Exported> WriteNcu(const ExportInput& input) {
  return Writer(input).Write();
}

}  // namespace stemtap::formats
