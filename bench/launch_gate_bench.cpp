// SPDX-License-Identifier: Apache-2.0
// Measures the cost of the gate for a launch in the injected code: the benchmark calls its callback
// as CUPTI would, at the entry and at the exit of cuLaunchKernel. The results include the
// benchmark's own loop; GateCallback/nothing measures the loop by itself.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/rng.h"
#include "control/program_control.h"
#include "gate/launch_gate.h"
#include "shm/launch_keys.h"
#include "shm/session_env.h"

namespace stemtap {
namespace {

enum class Known { kNothing, kHistory, kShape, kName, kUnknown, kSpent, kRejected };

constexpr std::uint32_t kOpenSlot = 9;

// Session is a temporary directory with the ring and the gate table of a session.
class Session {
 public:
  Session() {
    if (mkdtemp(directory_) == nullptr) throw std::runtime_error("no scratch directory");
    const std::string gate = std::string(directory_) + "/" + shm::kGateFileName;
    const int fd = open(gate.c_str(), O_RDWR | O_CREAT, 0600);
    auto file = std::make_unique<shm::GateFile>();
    file->file_bytes = sizeof(shm::GateFile);
    const bool written = write(fd, file.get(), sizeof(*file)) == ssize_t{sizeof(*file)};
    close(fd);
    char problem[256] = "the gate table cannot be written";
    if (!written || !files_.Open(directory_, problem, sizeof(problem))) {
      throw std::runtime_error(problem);
    }
    files_.MapGate();
    files_.Remove();
    unlink(gate.c_str());
    rmdir(directory_);
  }

  inject::SessionFiles& files() { return files_; }
  shm::GateTable& table() { return *files_.gate(); }

 private:
  char directory_[32] = "/tmp/stemtap_bench.XXXXXX";
  inject::SessionFiles files_;
};

// Loop is the launches of one thread: a loop over `functions` kernels with four launch
// configurations each.
struct Loop {
  std::vector<std::string> names;
  std::size_t launches;

  explicit Loop(int functions) : launches(static_cast<std::size_t>(functions) * 4) {
    Rng rng(1);
    for (int i = 0; i < functions; ++i) {
      // Half of the kernels of a torch program have names of 60 to 250 bytes.
      std::string name = "void kernel_" + std::to_string(i) + "<";
      name.append(40 + rng.Below(200), static_cast<char>('a' + i % 26));
      names.push_back(name);
    }
  }

  static unsigned GridOf(std::size_t i) { return 1 + static_cast<unsigned>(i % 4); }

  std::uint64_t NameOf(std::size_t i) const {
    const std::string& name = names[i % names.size()];
    return shm::NameHash(name.data(), name.size());
  }

  // `range`: NameHash of the range of all launches, or 0.
  void Publish(shm::GateTable& table, Known known, std::uint64_t range) const {
    for (std::size_t i = 0; i < launches; ++i) {
      const std::size_t before = i + launches;
      const auto hash = [&](std::size_t at) { return shm::RangeNameHash(NameOf(at), range); };
      const std::uint64_t name = hash(i);
      const shm::LaunchKeys keys(name, shm::ConfigKey(name, {{GridOf(i), 1, 1}, {256, 1, 1}}),
                                 shm::Advance(shm::Advance(0, hash(before - 2)), hash(before - 1)));
      if (known == Known::kHistory || known == Known::kSpent || known == Known::kRejected) {
        table.Publish(keys.history, known == Known::kHistory ? shm::kClosedSlot : kOpenSlot);
      }
      if (known == Known::kShape) table.Publish(keys.config, shm::kClosedSlot);
      if (known == Known::kName) table.Publish(shm::NameKey(name), shm::kClosedSlot);
    }
    // Open, but only one draw in 2^32 is accepted.
    if (known == Known::kRejected) table.Grant(kOpenSlot, 1, 0);
  }
};

// Call is a launch as CUPTI passes it: just written to the stack. It is in the L1 cache for any
// number of kernels. Kernel names and gate entries stay where they are in memory.
struct Call {
  cuLaunchKernel_params params = {};
  CUpti_CallbackData entry = {};
  CUpti_CallbackData exit = {};
  std::uint64_t cell = 0;
  CUresult result = CUDA_SUCCESS;

  explicit Call(int thread) {
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 256;
    params.blockDimY = params.blockDimZ = 1;
    params.hStream = reinterpret_cast<CUstream>(0x560000000000 + std::uint64_t(thread) * 0x3a0);
    entry.callbackSite = CUPTI_API_ENTER;
    entry.functionParams = &params;
    entry.functionReturnValue = &result;
    entry.correlationData = &cell;
    exit = entry;
    exit.callbackSite = CUPTI_API_EXIT;
  }
  Call(const Call&) = delete;

  void Show(const Loop& loop, std::size_t i) {
    const std::size_t kernel = i % loop.names.size();
    params.f = reinterpret_cast<CUfunction>(0x550000000000 + kernel * 0x1c0);
    params.gridDimX = Loop::GridOf(i);
    entry.symbolName = exit.symbolName = loop.names[kernel].c_str();
    // Captures of unknown kernels use the correlation id to wait for their records.
    entry.correlationId = exit.correlationId = static_cast<std::uint32_t>(i);
  }
};

void CUPTIAPI Nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

// Injected is the gate and its inputs. Threads share it, like the threads of a program.
struct Injected {
  Session session;
  std::unique_ptr<inject::DurationEngine> engine = std::make_unique<inject::DurationEngine>();
  std::unique_ptr<inject::LaunchGate> gate = std::make_unique<inject::LaunchGate>();

  Injected() {
    char problem[256] = {};
    gate->Init({}, session.files(), *engine, nullptr, problem, sizeof(problem));
  }
};
Injected* g_injected = nullptr;

void Prepare(const benchmark::State&) {
  g_injected = new Injected;
}
void CleanUp(const benchmark::State&) {
  delete g_injected;
}

// With kRanges, launches are grouped by range, and made in the range "decode/attention".
enum class Ranges { kNone, kOn };
constexpr char kRange[] = "decode/attention";

template <Known known, Ranges ranges = Ranges::kNone>
void GateCallback(benchmark::State& state) {
  const Loop loop(static_cast<int>(state.range(0)));
  constexpr bool kRanged = ranges == Ranges::kOn;
  inject::ProgramControl& control = inject::Control();
  if (kRanged) {
    control.PushRange("decode");
    control.PushRange("attention");
  }
  // Every thread would publish the same contexts, and the table has a single writer.
  if (state.thread_index() == 0) {
    control.ranges().Set(kRanged, nullptr, {});
    if (kRanged) g_injected->engine->places().Init();
    loop.Publish(g_injected->session.table(), known,
                 kRanged ? shm::NameHash(kRange, sizeof(kRange) - 1) : 0);
  }
  CUpti_CallbackFunc callback = known == Known::kNothing ? Nothing : inject::LaunchGate::OnCallback;
  benchmark::DoNotOptimize(callback);
  void* gate = g_injected->gate.get();
  std::size_t i = 0;
  std::uint32_t id = 0;
  Call call(state.thread_index());
  for (auto _ : state) {
    call.Show(loop, i);
    // As in a program, every launch has another id.
    call.entry.correlationId = call.exit.correlationId = ++id;
    benchmark::DoNotOptimize(call);
    callback(gate, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call.entry);
    callback(gate, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call.exit);
    if (++i == loop.launches) i = 0;
  }
  if (kRanged) {
    control.PopRange();
    control.PopRange();
  }
}

void Register() {
  const auto add = [](const char* name, void (*body)(benchmark::State&), int functions) {
    return benchmark::RegisterBenchmark((std::string("GateCallback/") + name).c_str(), body)
        ->Arg(functions)
        ->Setup(Prepare)
        ->Teardown(CleanUp);
  };
  add("nothing", GateCallback<Known::kNothing>, 50);
  add("nothing", GateCallback<Known::kNothing>, 2000);
  add("closed_by_history", GateCallback<Known::kHistory>, 50);
  add("closed_by_history", GateCallback<Known::kHistory>, 2000);
  add("ranges/closed_by_history", GateCallback<Known::kHistory, Ranges::kOn>, 50);
  add("ranges/closed_by_history", GateCallback<Known::kHistory, Ranges::kOn>, 2000);
  add("closed_by_shape", GateCallback<Known::kShape>, 50);
  add("closed_by_name", GateCallback<Known::kName>, 50);
  add("unknown", GateCallback<Known::kUnknown>, 50);
  add("credits_spent", GateCallback<Known::kSpent>, 50);
  add("credit_not_drawn", GateCallback<Known::kRejected>, 50);
  add("closed_by_history", GateCallback<Known::kHistory>, 50)->Threads(2);
  add("closed_by_history", GateCallback<Known::kHistory>, 50)->Threads(8);
}
const bool g_registered = (Register(), true);

}  // namespace
}  // namespace stemtap
