// SPDX-License-Identifier: Apache-2.0
//
// The entry points. In a preloaded library, the constructor only points CUDA and NVTX at this file:
// a program that never uses CUDA gets no thread, file or memory. As CUDA's injection target,
// InitializeInjection is called by cuInit. nvtx/exports.cpp has the entry point for NVTX.
//
// No failure here affects the program: the reason is written to the session, and cuInit continues.
#include <cuda.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "control/program_control.h"
#include "gate/launch_gate.h"
#include "graphs/graph_names.h"
#include "recording/duration_engine.h"
#include "shm/cupti_version.h"
#include "shm/profiling_tools.h"
#include "startup/collector_starter.h"
#include "startup/cupti_api.h"
#include "startup/locator.h"
#include "startup/options.h"
#include "startup/recording_threads.h"
#include "startup/runtime.h"
#include "startup/say.h"
#include "startup/session_files.h"
#include "startup/wake_up.h"

namespace stemtap::inject {
namespace {

// Minimum address space limit, without malloc's arenas. The ring takes 18 MiB of addresses, and the
// gate table and the buffers as much again. If that exceeds an eighth of the limit, the program may
// run out of addresses later. malloc's arenas can have the same effect: CUPTI allocates on threads
// that otherwise would not.
constexpr std::uint64_t kMinAddresses = std::uint64_t{256} << 20;

constexpr const char* kInjectionPath = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjectionPath = "NVTX_INJECTION64_PATH";
constexpr const char* kInitialize = "InitializeInjection";

constexpr std::size_t kReasonBytes = sizeof(shm::RingHeader::reason);

// All state of the library. It is zero-initialized, so it is in .bss, where unused pages cost
// nothing and no code runs at load.
struct Library {
  Options options;
  SessionFiles files;
  CuptiApi api;
  RecordingThreads threads;
  DurationEngine engine;
  LaunchGate gate;
  GraphNames graph_names;
  WakeUp wake_up;
  void* chained = nullptr;  // library of STEMTAP_CHAIN
  pid_t pid = 0;            // process that initialized the library; a forked child has another id
  bool replaced_cupti = false;  // CUPTI was the library of NVTX
};
constinit Library g_library;

// Returns whether a path names the file of this library.
bool IsOwnPath(const char* path) noexcept {
  char own_path[PATH_MAX];
  struct stat own;
  struct stat other;
  return OwnPath(own_path, sizeof(own_path)) && DescribeFile(AT_FDCWD, own_path, 0, own) &&
         DescribeFile(AT_FDCWD, path, 0, other) && own.st_dev == other.st_dev &&
         own.st_ino == other.st_ino;
}

// Returns whether a session directory with our ring exists. On failure writes the reason to
// `problem`.
bool JoinSession(Library& library, char* problem, std::size_t size) noexcept {
  char made[4096];
  const char* folder = library.options.session;
  const bool own_collector = folder == nullptr;
  if (own_collector) {
    if (!MakeSessionFolder(library.options, made, sizeof(made), problem, size)) return false;
    folder = made;
  }
  if (!library.files.Open(folder, problem, static_cast<std::uint32_t>(size))) {
    if (own_collector) ::rmdir(folder);
    return false;
  }
  if (!own_collector) return true;
  const int collector = StartCollector(library.options, folder, problem, size);
  library.files.SetCollector(collector);
  if (collector != 0) return true;
  library.files.Remove();  // nothing would ever read it, and it takes 17 MiB
  ::rmdir(folder);
  return false;
}

// Whether launches, or graphs, need callbacks.
bool NeedsCallbacks(const Library& library) noexcept {
  return library.options.level != Level::kKernels || Control().ranges().on();
}

// Claims CUPTI's only subscriber slot. The levels gate and graph keep it while they need callbacks.
// At level kernels it is released at once, unless launches need a range, so that torch.profiler can
// use it later.
bool Subscribe(Library& library, CUpti_SubscriberHandle& subscriber, char* problem) noexcept {
  char incumbent[64] = {};
  CUptiResult result = CUPTI_SUCCESS;
  const bool graph = library.options.level == Level::kGraph;
  const CUpti_CallbackFunc call = graph ? GraphNames::OnCallback : LaunchGate::OnCallback;
  void* const self = graph ? static_cast<void*>(&library.graph_names) : &library.gate;
  if (library.api.SubscribeV2 != nullptr) {
    CUpti_SubscriberParams params = {};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "stemtap";
    params.oldSubscriberName = incumbent;
    params.oldSubscriberSize = sizeof(incumbent);
    result = library.api.SubscribeV2(&subscriber, call, self, &params);
  } else {
    result = library.api.Subscribe(&subscriber, call, self);
  }
  if (result == CUPTI_SUCCESS) {
    if (!NeedsCallbacks(library)) library.api.Unsubscribe(subscriber);
    return true;
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    incumbent[sizeof(incumbent) - 1] = 0;
    ::snprintf(problem, kReasonBytes, "CUPTI is in use by another tool%s%s",
               incumbent[0] != 0 ? ": " : "", incumbent);
  } else {
    ::snprintf(problem, kReasonBytes, "CUPTI cannot be used: error %d %s", static_cast<int>(result),
               library.api.Describe(result));
  }
  return false;
}

// Returns whether launches will be gated. If the actuator cannot be loaded, only durations are
// recorded; the user is told at once and in the summary.
bool StartGate(Library& library, void* driver) noexcept {
  char problem[kReasonBytes];
  if (library.gate.Init(library.options, library.files, library.engine, driver, problem,
                        sizeof(problem))) {
    library.files.MapGate();
    return true;
  }
  constexpr const char* kWhat = "nothing will be captured";
  SayOnStderr(kWhat, problem);
  char remark[kReasonBytes];
  ::snprintf(remark, sizeof(remark), "%s: %.220s", kWhat, problem);
  library.files.Remark(remark);
  return false;
}

// Returns whether graphs are named by their structure. If not, the subscriber slot is released: the
// names by number need no callback.
bool StartGraphNames(Library& library, void* driver, CUpti_SubscriberHandle subscriber) noexcept {
  library.engine.SetGraphNames(library.graph_names);
  if (library.graph_names.Start(library.files, library.engine, library.api, driver, subscriber)) {
    return true;
  }
  library.api.Unsubscribe(subscriber);
  return false;
}

// The program called stemtap_start.
void ResumeRecording() {
  if (g_library.files.may_capture()) return;
  g_library.files.Request(shm::Recording::kStarted);
  g_library.engine.Wake();
}

// Sets up recording. Returns false with the reason in `problem`.
bool StartRecording(Library& library, char* problem) noexcept {
  void* driver = LocateDriver();
  using GetDriverVersion = CUresult (*)(int*);
  int driver_version = 0;
  if (auto get = reinterpret_cast<GetDriverVersion>(FindSymbol(driver, "cuDriverGetVersion"))) {
    get(&driver_version);
  }
  shm::RingHeader& header = library.files.ring().header;
  header.driver_version = static_cast<std::uint32_t>(driver_version);
  if (const char* tool = ToolOfProcess()) {
    ::snprintf(problem, kReasonBytes, "this process is %s itself", tool);
    return false;
  }
  if (const char* tool = ToolInProcess()) {
    ::snprintf(problem, kReasonBytes, "%s is in this process", tool);
    return false;
  }
  // Every tool built on NVBit defines this symbol. Two tools that rewrite launches conflict.
  constexpr const char* kNvbit = "nvbit_at_init";
  if (FindGlobalSymbol(kNvbit) != nullptr ||
      (library.chained != nullptr && FindSymbol(library.chained, kNvbit) != nullptr)) {
    ::snprintf(problem, kReasonBytes, "an NVBit tool is loaded in this process");
    return false;
  }
  Control().OnStart(ResumeRecording);
  Control().ranges().Set(library.options.by_range, library.options.only_range,
                         library.options.steps);
  if (Control().ranges().on() && !library.engine.places().Init()) {
    ::snprintf(problem, kReasonBytes, "no memory for the ranges of launches");
    return false;
  }
  library.threads.BeginSetup();
  void* cupti = LocateCupti(library.options.cupti, header.driver_version, problem, kReasonBytes);
  if (cupti == nullptr) return false;
  if (const char* missing = LoadCuptiApi(cupti, library.api)) {
    ::snprintf(problem, kReasonBytes, "this libcupti lacks %s", missing);
    return false;
  }
  const CUptiResult result = library.api.GetVersion(&library.api.version);
  header.cupti_version = library.api.version;
  if (result != CUPTI_SUCCESS || library.api.version < shm::kOldestCupti) {
    ::snprintf(problem, kReasonBytes,
               "CUPTI version %u is not supported; expected %u (CUDA 10.1) or later",
               library.api.version, shm::kOldestCupti);
    return false;
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  if (!Subscribe(library, subscriber, problem)) return false;
  if (library.api.newer_than_known()) {
    char remark[kReasonBytes];
    ::snprintf(remark, sizeof(remark),
               "CUPTI version %u is newer than CUDA %d and may not be fully supported; check the "
               "number of kernels",
               library.api.version, CUPTI_API_VERSION / 10000);
    library.files.Remark(remark);
  }
  const bool gate = library.options.level != Level::kGraph && NeedsCallbacks(library);
  const bool gated = gate && StartGate(library, driver);
  // Release the subscriber slot as at level kernels, so that torch.profiler can use it.
  if (gate && !gated) library.api.Unsubscribe(subscriber);
  const bool graph = library.options.level == Level::kGraph;
  const bool names_graphs = graph && StartGraphNames(library, driver, subscriber);
  if (!library.engine.Start(library.api, library.files, library.options, library.threads, problem,
                            kReasonBytes)) {
    if (gated) library.gate.Close();
    if (gated || names_graphs) library.api.Unsubscribe(subscriber);
    return false;
  }
  // This CUPTI cannot time graphs as one, so no graph needs a name. If recording is off, that is
  // not known yet.
  if (names_graphs && library.files.requested() != shm::Recording::kOff &&
      !library.engine.times_graphs()) {
    library.graph_names.Stop();
    library.api.Unsubscribe(subscriber);
  }
  std::uint32_t refused = 0;
  if (gated && !library.gate.EnableCallbacks(library.api, subscriber, refused)) {
    // Durations are still recorded; the header shows that nothing is gated.
    library.gate.Close();
    library.api.Unsubscribe(subscriber);
    char remark[kReasonBytes];
    ::snprintf(remark, sizeof(remark), "CUPTI refused launch callback %u; nothing is captured",
               refused);
    library.files.Remark(remark);
  }
  return true;
}

void AtExit() {
  if (g_library.pid != ::getpid() || g_library.engine.abandoned()) return;
  Control().Close();
  g_library.engine.Stop();
  g_library.gate.Close();
}

void InForkedChild() {
  Control().Close();
  g_library.engine.Abandon();
}

// With `stemtap run`, it reports another library, once for all processes.
void RemarkNvtx(Library& library) noexcept {
  if (library.replaced_cupti) {
    library.files.Remark(
        "NVTX_INJECTION64_PATH was CUPTI, which takes one client; it is stemtap's "
        "library now");
  }
  const char* set = ::getenv(kNvtxInjectionPath);
  if (library.options.session != nullptr || !MarksLaunches() || set == nullptr || IsOwnPath(set)) {
    return;
  }
  library.files.Remark(
      "NVTX ranges are not recorded: NVTX_INJECTION64_PATH is set to another "
      "library; unset it to record them");
}

using Outcome = WakeUp::Outcome;

// On failure writes the reason to `problem`.
Outcome Record(Library& library, char* problem, std::size_t size) noexcept {
  const std::uint64_t min_addresses = kMinAddresses + ArenaAddresses();
  if (AddressLimit() < min_addresses) {
    ::snprintf(problem, size,
               "the address space limit (ulimit -v) is too low for malloc's arenas; expected "
               "%u MiB or more",
               static_cast<unsigned>(min_addresses >> 20));
    return Outcome::kNoSession;
  }
  if (!JoinSession(library, problem, size)) return Outcome::kNoSession;
  problem[0] = 0;
  if (!StartRecording(library, problem)) {
    library.files.Disable(problem);
    return Outcome::kDisabled;
  }
  RemarkNvtx(library);
  // Registered after libcupti is loaded: handlers run in reverse order, so ours runs before
  // CUPTI's.
  ::atexit(AtExit);
  OnForkInChild(InForkedChild);
  return Outcome::kRecording;
}

void RecordNow(Library& library) noexcept {
  char problem[kReasonBytes] = {};
  // Without a session directory, no collector would report the reason.
  if (Record(library, problem, sizeof(problem)) == Outcome::kNoSession) {
    SayOnStderr("nothing will be recorded", problem);
  }
}

// 'stemtap start' wants this process, which waits for it, to record.
Outcome StartLate(char* text, std::size_t size) noexcept {
  Library& library = g_library;
  library.options = ReadOptions();
  const Outcome outcome = Record(library, text, size);
  if (outcome == Outcome::kRecording) ::snprintf(text, size, "%s", library.files.folder());
  return outcome;
}

void AwaitStart(Library& library) noexcept {
  char problem[kReasonBytes];
  if (!library.wake_up.Listen(
          StartLate, [] { ExitProcess(); }, problem, sizeof(problem))) {
    SayOnStderr("nothing will be recorded", problem);
    return;
  }
  OnForkInChild([] { g_library.wake_up.Close(); });
}

void LoadChained(Library& library) noexcept {
  const char* path = ReadOptions().chain;
  if (path != nullptr) library.chained = OpenLibrary(path, false);
}

// Initializes the library of STEMTAP_CHAIN as the driver initializes the library of
// CUDA_INJECTION64_PATH. Returns false if the library refused by returning 0; it is then unloaded,
// and loaded again at the next cuInit.
bool InitializeChained(Library& library) noexcept {
  if (library.chained == nullptr) return true;
  using Function = int (*)();
  auto initialize = reinterpret_cast<Function>(FindSymbol(library.chained, kInitialize));
  if (initialize != nullptr && initialize() != 0) return true;
  CloseLibrary(library.chained);
  library.chained = nullptr;
  return false;
}

void Begin(Library& library) noexcept {
  if (library.options.session != nullptr) return RecordNow(library);
  // Nothing asked to record the profiling tool itself.
  if (ToolOfProcess() != nullptr) return;
  if (Paused()) {
    AwaitStart(library);
  } else {
    RecordNow(library);
  }
}

// Returns false if the driver must call again at the next cuInit, for the chained library.
bool Initialize() noexcept {
  Library& library = g_library;
  if (library.pid == 0) {
    library.pid = ::getpid();
    library.options = ReadOptions();
    LoadChained(library);
    if (library.options.chain != nullptr && library.chained == nullptr) {
      SayOnStderr("cannot be loaded", library.options.chain);
    }
    if (!Disabled()) Begin(library);
    return InitializeChained(library);
  }
  // A forked child that calls cuInit again inherits this state and is not recorded.
  if (library.pid != ::getpid()) return true;
  // The driver calls again only if the chained library refused, and then it was unloaded.
  if (library.chained != nullptr) return true;
  LoadChained(library);
  return InitializeChained(library);
}

// Removes a variable that contains the path of this library.
void RemoveOwn(const char* variable) noexcept {
  const char* set = ::getenv(variable);
  if (set != nullptr && IsOwnPath(set)) ::unsetenv(variable);
}

// In a preloaded library, no other thread runs yet, so the environment can be changed.
__attribute__((constructor, cold)) void OnLoad() {
  if (::getauxval(AT_SECURE) != 0 || Disabled()) return;
  if (ToolOfProcess() != nullptr) {
    // The tool inherited the variable from a shell that got it from us. Programs that ncu starts
    // with the variable set exit at once.
    RemoveOwn(kInjectionPath);
    RemoveOwn(kNvtxInjectionPath);
    return;
  }
  if (ToolInProcess() != nullptr) return;
  const char* cuda = ::getenv(kInjectionPath);
  const char* nvtx = ::getenv(kNvtxInjectionPath);
  const bool sets_nvtx = nvtx == nullptr || shm::IsCuptiLibrary(nvtx);
  if (cuda != nullptr && !sets_nvtx) return;
  char own[PATH_MAX];
  if (!OwnPath(own, sizeof(own))) return;
  // If NVTX has loaded this library, at the first range of the program, other threads may read the
  // environment, as in a process that was attached to.
  if (IsAttached() || (nvtx != nullptr && IsOwnPath(nvtx) && HasOtherThreads())) return;
  if (cuda == nullptr) {
    ::setenv(kInjectionPath, own, 0);
  } else if (!IsOwnPath(cuda)) {
    return;  // the process is not recorded
  }
  if (sets_nvtx) {
    ::setenv(kNvtxInjectionPath, own, 1);
    g_library.replaced_cupti = nvtx != nullptr;
  }
}

}  // namespace
}  // namespace stemtap::inject

// Called by cuInit. Returns 1 when done, even after a failure. If it returns 0, cuInit unloads this
// library (which the linker flag nodelete keeps in memory) and calls again the next time.
extern "C" __attribute__((visibility("default"))) int InitializeInjection(void) {
  // A program with more privileges than its user must not be traced by that user, nor write files
  // to paths that the user chooses.
  if (::getauxval(AT_SECURE) != 0) return 1;
  return stemtap::inject::Initialize() ? 1 : 0;
}

// Called by 'stemtap attach' in a process that was not prepared: lets it wait for 'stemtap start'.
// Returns 0, also if the process waits or records already.
extern "C" __attribute__((visibility("default"))) int stemtap_attach(void) {
  stemtap::inject::Library& library = stemtap::inject::g_library;
  if (::getauxval(AT_SECURE) != 0 || library.pid != 0) return 0;
  library.pid = ::getpid();
  stemtap::inject::AwaitStart(library);
  return 0;
}
