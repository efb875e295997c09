// SPDX-License-Identifier: Apache-2.0
// C interface of TracerGate, see include/stemtap/gate.h: accepts structs of any version, throws
// nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "session/flags/command_line.h"
#include "session/flags/sampling_flags.h"
#include "session/tracer_gate/tracer_gate.h"
#include "shm/context_key.h"
#include "stemtap/gate.h"

namespace {

using stemtap::Error;
using stemtap::Result;
using stemtap::session::SessionOptions;
using stemtap::session::TracerGate;
using stemtap::session::TracerLaunch;

// Sizes of version 1: the minimum that a caller must pass.
constexpr std::uint32_t kOptionsV1 = 24;
constexpr std::uint32_t kLaunchV1 = 64;
static_assert(sizeof(stemtap_gate_options) == kOptionsV1 && sizeof(stemtap_launch) == kLaunchV1);

// The same maximum as in the engine; beyond it, numbering restarts with an empty table.
constexpr std::size_t kMaxStreams = std::size_t{1} << 16;

// Returns the caller's struct of any version; missing members are 0.
template <typename T>
T Taken(const T& given) {
  T taken = {};
  std::memcpy(&taken, &given, std::min<std::size_t>(given.struct_size, sizeof(T)));
  return taken;
}

std::string ProgramName() {
  std::string name;
  if (std::FILE* file = std::fopen("/proc/self/comm", "re")) {
    char line[64] = {};
    if (std::fgets(line, sizeof line, file) != nullptr) name = line;
    std::fclose(file);
  }
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "program" : name;
}

Result<SessionOptions> OptionsOf(const stemtap_gate_options& given) {
  const char* text = given.options != nullptr ? given.options : std::getenv("STEMTAP_OPTIONS");
  SessionOptions options;
  stemtap::session::SamplingFlags flags;
  stemtap::session::CommandSpec command("", "");
  flags.AddTo(command);
  const std::string words = text == nullptr ? "" : text;
  const stemtap::Status parsed = stemtap::session::ParseOptions(command, words);
  if (!parsed.ok()) {
    return Error{fmt::format("gate options '{}': {}", words, parsed.error().message), 2};
  }
  options.sampling = flags.Options();
  options.listed = flags.Listed();
  const char* session = given.session != nullptr ? given.session : std::getenv("STEMTAP_SESSION");
  options.folder = session != nullptr && *session != '\0'
                       ? session
                       : fmt::format("stemtap-{}-{}", ProgramName(), ::getpid());
  return options;
}

}  // namespace

struct stemtap_gate {
  std::unique_ptr<TracerGate> gate;  // null: the gate has failed
  pid_t owner = ::getpid();
  bool quiet = false;
  std::string message;

  // Numbers of streams by device, context and stream, in order of first use.
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::uint32_t> streams;
  std::uint32_t next_stream = 0;

  // A forked child has a copy of the gate, but must not write to the session.
  bool usable() const { return gate != nullptr && !broken && owner == ::getpid(); }

  // Memory ran out during an operation, so its state is incomplete and the gate fails for good. The
  // session stays as it is; nothing is allocated here. Set by the thread that ran out, read by
  // every call. Publishes no other data, so its order does not matter.
  std::atomic<bool> broken{false};

  void Fail(std::string why) {
    gate.reset();
    message = stemtap::EscapeForTerminal(why);
    if (!quiet) std::fprintf(stderr, "stemtap: gate: %s\n", message.c_str());
  }

  std::uint32_t StreamOf(const stemtap_launch& launch) {
    using stemtap::shm::MixKeys;
    if (launch.stream == STEMTAP_UNKNOWN_64) return stemtap::shm::kUnknown32;
    const std::uint64_t key = MixKeys(MixKeys(launch.device, launch.context), launch.stream);
    const std::lock_guard lock(mutex);
    const auto known = streams.find(key);
    if (known != streams.end()) return known->second;
    if (streams.size() >= kMaxStreams) streams.clear();
    // Numbers continue: after the table is cleared, a known stream gets a new number.
    return streams.emplace(key, next_stream++).first->second;
  }
};

// Runs `call` on the gate. Exceptions (out of memory) do not reach the caller.
template <typename T, typename Call>
static T Guarded(stemtap_gate* gate, T failed, const Call& call) noexcept {
  if (gate == nullptr || !gate->usable()) return failed;
  try {
    return call(*gate->gate);
  } catch (const std::exception&) {
    gate->broken = true;
    return failed;
  }
}

uint32_t stemtap_gate_version(void) {
  return STEMTAP_GATE_VERSION;
}

stemtap_gate* stemtap_gate_open(const stemtap_gate_options* options) {
  auto* gate = new (std::nothrow) stemtap_gate;
  if (gate == nullptr) return nullptr;
  try {
    stemtap_gate_options given = {};
    if (options != nullptr) {
      if (options->struct_size < kOptionsV1) {
        gate->quiet = options->struct_size >= 8 && (options->flags & STEMTAP_GATE_QUIET) != 0;
        gate->Fail(fmt::format("stemtap_gate_options.struct_size is {}, expected at least {}",
                               options->struct_size, kOptionsV1));
        return gate;
      }
      given = Taken(*options);
    }
    gate->quiet = (given.flags & STEMTAP_GATE_QUIET) != 0;
    const Result<SessionOptions> read = OptionsOf(given);
    if (!read.ok()) {
      gate->Fail(read.error().message);
      return gate;
    }
    Result<std::unique_ptr<TracerGate>> opened = TracerGate::Open(read.value());
    if (opened.ok()) {
      gate->gate = std::move(opened).value();
    } else {
      gate->Fail(opened.error().message);
    }
  } catch (const std::exception&) {
    gate->broken = true;
  }
  return gate;
}

stemtap_answer stemtap_gate_should_capture(stemtap_gate* gate, const stemtap_launch* launch) {
  const stemtap_answer no = {0, 0, 0};
  if (launch == nullptr || launch->struct_size < kLaunchV1) return no;
  return Guarded(gate, no, [&](TracerGate& open) {
    const stemtap_launch given = Taken(*launch);
    TracerLaunch asked;
    asked.name = given.name == nullptr || *given.name == '\0' ? "unknown" : given.name;
    asked.name = asked.name.substr(0, stemtap::shm::kMaxNameBytes);
    stemtap::shm::KernelRecord& record = asked.record;
    for (int i = 0; i < 3; ++i) {
      record.grid[i] = given.grid[i];
      record.block[i] = static_cast<std::uint16_t>(std::min(given.block[i], 0xFFFFu));
    }
    record.shared_bytes = given.shared_bytes;
    record.device =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(given.device, stemtap::shm::kUnknown16));
    record.stream = gate->StreamOf(given);
    record.graph_id = (given.flags & STEMTAP_LAUNCH_FROM_GRAPH) != 0 ? 1 : 0;
    const TracerGate::Answer answer = open.ShouldCapture(asked);
    return stemtap_answer{answer.id + 1, answer.capture ? 1u : 0u, 0};
  });
}

int stemtap_gate_observe(stemtap_gate* gate, uint64_t id, uint64_t duration_ns) {
  return Guarded(gate, STEMTAP_GATE_FAILED, [&](TracerGate& open) {
    return id == 0 || open.Observe(id - 1, duration_ns) ? STEMTAP_GATE_OK : STEMTAP_GATE_UNKNOWN_ID;
  });
}

int stemtap_gate_abandon(stemtap_gate* gate, uint64_t id) {
  return Guarded(gate, STEMTAP_GATE_FAILED, [&](TracerGate& open) {
    return id == 0 || open.Abandon(id - 1) ? STEMTAP_GATE_OK : STEMTAP_GATE_UNKNOWN_ID;
  });
}

const char* stemtap_gate_message(const stemtap_gate* gate) {
  return gate == nullptr || gate->broken ? "out of memory" : gate->message.c_str();
}

int stemtap_gate_close(stemtap_gate* gate) {
  if (gate == nullptr) return STEMTAP_GATE_OK;
  const std::unique_ptr<stemtap_gate> ends(gate);
  return Guarded(gate, STEMTAP_GATE_FAILED, [&](TracerGate& open) {
    const Result<stemtap::model::Plan> plan = open.Close();
    if (plan.ok()) return STEMTAP_GATE_OK;
    if (!gate->quiet) {
      std::fprintf(stderr, "stemtap: gate: %s\n",
                   stemtap::EscapeForTerminal(plan.error().message).c_str());
    }
    return STEMTAP_GATE_NOT_WRITTEN;
  });
}
