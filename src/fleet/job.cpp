// SPDX-License-Identifier: Apache-2.0
#include "fleet/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "fleet/job_scripts.h"
#include "fleet/seal.h"

namespace stemtap::fleet {
namespace {

// Changes that are read with one command, and runs that are read with the commands of one message.
// With one message for each value, the leader took 3.6 % of a core, and now 1.4 % (fleet_load).
constexpr std::size_t kEntriesAtOnce = 1000;
constexpr std::size_t kChangedAtOnce = 100;
constexpr std::size_t kRunsAtOnce = 4;

Error Unexpected(std::string_view what) {
  return {fmt::format("the server returned an unexpected {}; expected the data of a stemtap job",
                      what)};
}

std::string Hex(std::uint64_t key) {
  return fmt::format("{:016x}", key);
}

std::optional<std::uint64_t> ParseHex(std::string_view text) {
  std::uint64_t key = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key, 16);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return key;
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::string PackRun(const RunInfo& run) {
  return Sealed("runs", run.id,
                Packer()
                    .Number(run.rank)
                    .Text(run.host)
                    .Number(run.launches)
                    .Number(run.duration_ns)
                    .Number(run.has_ended)
                    .Take());
}

std::optional<RunInfo> UnpackRun(const std::string& id, std::string_view bytes) {
  const std::optional<std::string_view> opened = Opened("runs", id, bytes);
  if (!opened) return std::nullopt;
  Unpacker unpacker(*opened);
  RunInfo run;
  run.id = id;
  run.rank = unpacker.Number();
  run.host = unpacker.Text();
  run.launches = unpacker.Number();
  run.duration_ns = unpacker.Number();
  run.has_ended = unpacker.Number(1) != 0;
  return unpacker.done() ? std::optional(run) : std::nullopt;
}

// Adds the words of a text to `words`.
void AddWords(std::string_view text, std::set<std::string>& words) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end != 0) words.emplace(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string PackSealed(std::string_view key, std::string_view field,
                       const std::vector<DirectedKernel>& directions) {
  return Sealed(key, field, PackDirections(directions));
}

std::optional<std::vector<DirectedKernel>> UnpackSealed(std::string_view key,
                                                        std::string_view field,
                                                        std::string_view bytes) {
  const std::optional<std::string_view> opened = Opened(key, field, bytes);
  return opened ? UnpackDirections(*opened) : std::nullopt;
}

// Calls add(field, value) for each pair of a list; false if it is none, or `add` returns false.
template <typename Add>
bool ForEachPair(const Reply& reply, const Add& add) {
  if (!reply.is_list() || reply.list.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < reply.list.size(); i += 2) {
    if (!reply.list[i].is_text() || !reply.list[i + 1].is_text() ||
        !add(reply.list[i].text, reply.list[i + 1].text)) {
      return false;
    }
  }
  return true;
}

// Calls add(field, value) as ForEachPair, for values of Sealed at `key`.
template <typename Add>
bool ForEachSealed(std::string_view key, const Reply& reply, const Add& add) {
  return ForEachPair(reply, [&](const std::string& field, const std::string& sealed) {
    const std::optional<std::string_view> value = Opened(key, field, sealed);
    return value && add(field, *value);
  });
}

// Part is one of the hashes of a run.
struct Part {
  const char* name;
  std::set<std::string> Changed::*changed;
  bool (*add)(std::string_view field, std::string_view value, RunState& state);  // false: malformed
  bool is_hint;  // a leader can do without it; PoolPlan refuses a job that lacks it
};

bool AddSketch(std::string_view field, std::string_view value, RunState& state) {
  const std::optional<std::uint64_t> key = ParseHex(field);
  std::optional<stats::LogSketch> sketch = UnpackSketch(value);
  if (!key || !sketch) return false;
  state.sketches.emplace(*key, *std::move(sketch));
  return true;
}

bool AddCapture(std::string_view field, std::string_view value, RunState& state) {
  const std::optional<std::uint64_t> key = ParseHex(field.substr(0, field.find(':')));
  const std::optional<online::Capture> capture = UnpackCapture(value);
  if (!key || !capture) return false;
  state.captures.emplace_back(*key, *capture);
  return true;
}

bool AddTraits(std::string_view field, std::string_view value, RunState& state) {
  const std::optional<std::uint64_t> key = ParseHex(field);
  std::optional<Traits> traits = UnpackTraits(value);
  if (!key || !traits) return false;
  state.traits.emplace(*key, *std::move(traits));
  return true;
}

constexpr Part kParts[] = {{"sketches", &Changed::kernels, AddSketch, false},
                           {"captures", &Changed::captures, AddCapture, false},
                           {"traits", &Changed::kernels, AddTraits, true}};

std::string KeyOf(const Part& part, const std::string& run) {
  return fmt::format("{}:{}", part.name, run);
}

// Adds the values at `key`: of `fields` only, or of all fields if it is null.
bool Take(const Part& part, std::string_view key, const std::set<std::string>* fields,
          const Reply& reply, RunState& state) {
  const auto add = [&](const std::string& field, const std::string& sealed) {
    const std::optional<std::string_view> value = Opened(key, field, sealed);
    return (value && part.add(field, *value, state)) || part.is_hint;
  };
  if (fields == nullptr) return ForEachPair(reply, add);
  if (!reply.is_list() || reply.list.size() != fields->size()) return false;
  auto value = reply.list.begin();
  for (const std::string& field : *fields) {
    if (!value->is_text() || !add(field, value->text)) return false;
    ++value;
  }
  return true;
}

}  // namespace

Job::Job(RedisUrl url, const std::string& name)
    : redis_(std::move(url)), prefix_(fmt::format("stemtap:{{{}}}:", name)) {}

Result<Reply> Job::Run(const char* script, const std::vector<std::string>& keys,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"EVAL", script, std::to_string(keys.size())};
  for (const std::string& key : keys) words.push_back(Key(key));
  words.insert(words.end(), arguments.begin(), arguments.end());
  return redis_.Call(words);
}

Result<Answer> Job::Send(const Update& update, std::uint64_t version) {
  const std::string& run = update.run.id;
  std::vector<std::string> arguments = {
      run,
      std::to_string(update.number),
      std::to_string(version),
      std::to_string(kLease.count()),
      std::to_string(kExpiry.count()),
      std::to_string(update.confirmed),
      PackRun(update.run),
      update.run.has_ended ? "-1" : std::to_string(update.run.launches),
      std::to_string(kWaitedFor.count())};
  const auto add = [&](const std::string& key, const auto& values, const auto& field_of) {
    arguments.push_back(std::to_string(values.size()));
    for (const auto& [name, value] : values) {
      const std::string field = field_of(name);
      arguments.push_back(field);
      arguments.push_back(Sealed(key, field, value));
    }
  };
  add("kernels", update.new_kernels, Hex);
  add("sketches:" + run, update.sketches, Hex);
  add("captures:" + run, update.captures, std::identity());
  add("traits:" + run, update.traits, Hex);
  const Reply reply =
      STEMTAP_TRY(Run(kUpdateScript,
                      {"job", "runs", "changes", "kernels", "sketches:" + run, "captures:" + run,
                       "traits:" + run, "leader", "targets", "progress", "seen"},
                      arguments));
  if (!reply.is_list() || reply.list.size() != 6 || !reply.list[2].is_text() ||
      !reply.list[4].is_text()) {
    return Unexpected("answer to an update");
  }
  const std::optional<std::uint64_t> newest = ParseNumber(reply.list[2].text);
  const std::optional<std::uint64_t> slowest = ParseNumber(reply.list[4].text);
  if (!newest || !slowest) return Unexpected("version");
  Answer answer = {reply.list[0].number == 1,
                   reply.list[1].number == 1,
                   *newest,
                   *slowest,
                   static_cast<std::uint64_t>(std::max<std::int64_t>(reply.list[5].number, 0)),
                   {}};
  // A run that has ended captures nothing more.
  if (reply.list[3].is_text() && !update.run.has_ended) {
    answer.directions = UnpackSealed("targets", run, reply.list[3].text);
    if (!answer.directions) return Unexpected("direction");
  }
  return answer;
}

Result<std::vector<RunState>> Job::ReadRuns(const std::map<std::string, Changed>& runs,
                                            bool whole) {
  const std::size_t at_once = whole ? kRunsAtOnce : kChangedAtOnce;
  std::vector<RunState> states;
  for (auto begin = runs.begin(); begin != runs.end();) {
    auto end = begin;
    std::vector<std::vector<std::string>> commands;
    for (std::size_t i = 0; i < at_once && end != runs.end(); ++i, ++end) {
      const auto& [id, changed] = *end;
      commands.push_back({"HGET", Key("runs"), id});
      if (whole) commands.push_back({"HGET", Key("targets"), id});
      for (const Part& part : kParts) {
        const std::set<std::string>& fields = changed.*part.changed;
        const std::string key = Key(KeyOf(part, id));
        if (whole) {
          commands.push_back({"HGETALL", key});
        } else if (!fields.empty()) {
          commands.push_back({"HMGET", key});
          commands.back().insert(commands.back().end(), fields.begin(), fields.end());
        }
      }
    }
    const std::vector<Reply> replies = STEMTAP_TRY(redis_.CallAll(commands));
    auto reply = replies.begin();
    for (; begin != end; ++begin) {
      const auto& [id, changed] = *begin;
      const std::optional<RunInfo> info = UnpackRun(id, (reply++)->text);
      if (!info) return Unexpected("description of a run");
      RunState& state = states.emplace_back();
      state.run = *info;
      if (const Reply* targets = whole ? &*reply++ : nullptr; targets && targets->is_text()) {
        // If directions are damaged, the leader does without them.
        state.directions =
            UnpackSealed("targets", id, targets->text).value_or(std::vector<DirectedKernel>());
      }
      for (const Part& part : kParts) {
        const std::set<std::string>& fields = changed.*part.changed;
        if (!whole && fields.empty()) continue;
        if (!Take(part, KeyOf(part, id), whole ? nullptr : &fields, *reply++, state)) {
          return Unexpected(fmt::format("value in '{}'", part.name));
        }
      }
    }
  }
  return states;
}

Result<std::vector<RunState>> Job::ReadAll() {
  // What changes meanwhile is read again.
  const Reply count = STEMTAP_TRY(redis_.Call({"HGET", Key("job"), "changes"}));
  const Reply newest =
      STEMTAP_TRY(redis_.Call({"XREVRANGE", Key("changes"), "+", "-", "COUNT", "1"}));
  read_up_to_ = count.is_text() ? ParseNumber(count.text).value_or(0) : 0;
  last_entry_ = "0";
  if (newest.is_list() && !newest.list.empty() && newest.list[0].is_list() &&
      !newest.list[0].list.empty()) {
    last_entry_ = newest.list[0].list[0].text;
  }
  const Reply runs = STEMTAP_TRY(redis_.Call({"HKEYS", Key("runs")}));
  if (!runs.is_list()) return Unexpected("list of runs");
  std::map<std::string, Changed> all;
  for (const Reply& run : runs.list) all[run.text];
  return ReadRuns(all, true);
}

Result<std::vector<RunState>> Job::ReadChanges() {
  if (last_entry_.empty()) return ReadAll();
  std::map<std::string, Changed> by_run;
  for (bool is_full = true; is_full;) {
    const Reply entries = STEMTAP_TRY(redis_.Call({"XRANGE", Key("changes"), "(" + last_entry_, "+",
                                                   "COUNT", std::to_string(kEntriesAtOnce)}));
    if (!entries.is_list()) return Unexpected("list of changes");
    is_full = entries.list.size() == kEntriesAtOnce;
    for (const Reply& entry : entries.list) {
      if (!entry.is_list() || entry.list.size() != 2) return Unexpected("change");
      std::map<std::string, std::string> fields;
      const bool is_map = ForEachPair(entry.list[1], [&](const auto& name, const auto& value) {
        return fields.emplace(name, value).second;
      });
      const std::optional<std::uint64_t> number = ParseNumber(fields["change"]);
      if (!is_map || !number) return Unexpected("change");
      // The server has removed changes that were not read.
      if (*number > read_up_to_ + 1) return ReadAll();
      last_entry_ = entry.list[0].text;
      read_up_to_ = std::max(read_up_to_, *number);
      Changed& changed = by_run[fields["run"]];
      AddWords(fields["sketches"], changed.kernels);
      AddWords(fields["captures"], changed.captures);
    }
  }
  return ReadRuns(by_run, false);
}

Result<std::vector<std::string>> Job::ReadSilent() {
  const Reply reply = STEMTAP_TRY(Run(kSilentScript, {"seen"}, {std::to_string(kSilence.count())}));
  if (!reply.is_list()) return Unexpected("list of runs");
  std::vector<std::string> silent;
  for (const Reply& run : reply.list) silent.push_back(run.text);
  return silent;
}

Result<bool> Job::Publish(const std::string& leader, const std::vector<DirectedKernel>& clusters,
                          const std::map<std::string, std::vector<DirectedKernel>>& by_run) {
  std::vector<std::string> arguments = {leader, std::to_string(kExpiry.count()),
                                        PackSealed("clusters", "", clusters)};
  for (const auto& [run, directions] : by_run) {
    arguments.push_back(run);
    arguments.push_back(PackSealed("targets", run, directions));
  }
  const Reply reply =
      STEMTAP_TRY(Run(kPublishScript, {"job", "leader", "clusters", "targets"}, arguments));
  return reply.number == 1;
}

Status Job::Resign(const std::string& leader) {
  STEMTAP_TRY(Run(kResignScript, {"leader"}, {leader}));
  return Success{};
}

Status Job::Announce(const std::map<std::string, RunInfo>& runs) {
  std::vector<std::string> arguments = {std::to_string(kExpiry.count())};
  for (const auto& [id, run] : runs) {
    arguments.push_back(id);
    arguments.push_back(PackRun(run));
  }
  STEMTAP_TRY(Run(kAnnounceScript, {"job", "runs", "changes"}, arguments));
  return Success{};
}

Result<bool> Job::StoreFiles(const std::string& run, std::uint64_t confirmed,
                             const std::map<std::string, std::string>& files) {
  std::vector<std::string> arguments = {run, std::to_string(confirmed),
                                        std::to_string(kExpiry.count())};
  for (const auto& [name, content] : files) {
    arguments.push_back(name);
    arguments.push_back(Sealed("files:" + run, name, content));
  }
  const Reply reply = STEMTAP_TRY(Run(kStoreFilesScript, {"job", "files:" + run}, arguments));
  return reply.number == 1;
}

Result<std::map<std::string, std::string>> Job::ReadFiles(const std::string& run) {
  const std::string key = "files:" + run;
  const Reply reply = STEMTAP_TRY(redis_.Call({"HGETALL", Key(key)}, Redis::kMaxBytes));
  std::map<std::string, std::string> files;
  const bool read =
      ForEachSealed(key, reply, [&](const std::string& name, std::string_view content) {
        files.emplace(name, content);
        return true;
      });
  if (!read) return Unexpected("file");
  return files;
}

Result<std::map<std::uint64_t, model::KernelId>> Job::ReadKernels() {
  const Reply reply = STEMTAP_TRY(redis_.Call({"HGETALL", Key("kernels")}));
  std::map<std::uint64_t, model::KernelId> kernels;
  const bool read =
      ForEachSealed("kernels", reply, [&](const std::string& field, std::string_view value) {
        const std::optional<std::uint64_t> key = ParseHex(field);
        std::optional<model::KernelId> id = UnpackId(value);
        if (!key || !id) return false;
        kernels.emplace(*key, *std::move(id));
        return true;
      });
  if (!read) return Unexpected("kernel");
  return kernels;
}

Result<std::vector<DirectedKernel>> Job::ReadClusters() {
  const Reply reply = STEMTAP_TRY(redis_.Call({"GET", Key("clusters")}));
  if (!reply.is_text()) return std::vector<DirectedKernel>();
  std::optional<std::vector<DirectedKernel>> clusters = UnpackSealed("clusters", "", reply.text);
  if (!clusters) return Unexpected("decision");
  return *std::move(clusters);
}

}  // namespace stemtap::fleet
