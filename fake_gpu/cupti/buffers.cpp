// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cupti/buffer.h"
#include "cupti/delivery.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/ownership.h"
#include "cupti/records.h"
#include "cupti/settings.h"
#include "cupti/waiting.h"

namespace fake_cupti {
namespace {

// Slot contains the buffer to which launches of one thread, or of all threads, write.
struct Slot {
  std::timed_mutex mutex;
  Buffer buffer;           // guarded by mutex; data == nullptr: none
  bool abandoned = false;  // its thread has ended; guarded by Registry::mutex
};

struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Slot>> slots;
  std::shared_ptr<Slot> shared = std::make_shared<Slot>();  // for PER_THREAD = 0
};

Registry& registry() {
  static Registry& instance = *new Registry;  // leaked: used at exit
  return instance;
}

// Relaxed throughout: switches and counters; the client serializes where order matters.
std::atomic<CUpti_BuffersCallbackRequestFunc> g_request{nullptr};
std::atomic<CUpti_BuffersCallbackCompleteFunc> g_complete{nullptr};
std::atomic<bool> g_client_zeroes{false};
std::atomic<bool> g_per_thread{true};
std::atomic<CUpti_ActivityKind> g_kind{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
std::atomic<bool> g_overhead{false};
std::atomic<bool> g_copies{false};
std::atomic<std::uint64_t> g_leaked{0};  // bytes of device memory
std::atomic<std::uint64_t> g_dropped{0};
std::atomic<std::uint64_t> g_records{0};

// Set after this thread's slot is destroyed: the thread may still launch from a destructor.
thread_local bool t_slot_gone = false;

// ThreadSlot registers the slot of this thread and abandons it when the thread ends. Its content
// stays until it is flushed.
class ThreadSlot {
 public:
  ThreadSlot() : slot_(std::make_shared<Slot>()) {
    const std::lock_guard lock(registry().mutex);
    registry().slots.push_back(slot_);
  }
  ~ThreadSlot() {
    t_slot_gone = true;
    if (IsForkedChild()) return;  // a thread of the parent may have held the mutex
    const std::lock_guard lock(registry().mutex);
    slot_->abandoned = true;
  }
  Slot& slot() { return *slot_; }

 private:
  std::shared_ptr<Slot> slot_;
};

Slot& SlotForThisThread() {
  if (t_slot_gone || !g_per_thread.load(std::memory_order_relaxed)) return *registry().shared;
  thread_local ThreadSlot slot;
  return slot.slot();
}

std::vector<std::shared_ptr<Slot>> AllSlots() {
  const std::lock_guard lock(registry().mutex);
  std::vector<std::shared_ptr<Slot>> slots = registry().slots;
  slots.push_back(registry().shared);
  return slots;
}

void ForgetAbandonedSlots() {
  const std::lock_guard lock(registry().mutex);
  std::erase_if(registry().slots, [](const std::shared_ptr<Slot>& slot) {
    if (!slot->abandoned) return false;
    const std::lock_guard slot_lock(slot->mutex);  // no client callback runs in there any more
    return slot->buffer.data == nullptr;
  });
}

// Requests a buffer from the client; returns false if it provides none.
bool Request(Buffer& buffer) {
  const auto request = g_request.load(std::memory_order_relaxed);
  if (request == nullptr) return false;
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::size_t max_records = 0;
  {
    const ScopedRole role(ThreadRole::kRequestCallback);
    HoldLockAWhile();
    Guarded([&] { request(&data, &size, &max_records); });
  }
  if (data == nullptr) {
    if (settings().version < 27) {
      Die("the client returned no buffer, which crashes CUPTI before 12.9");
    }
    return false;
  }
  if (reinterpret_cast<std::uintptr_t>(data) % ACTIVITY_RECORD_ALIGNMENT != 0) {
    Die("the client returned a buffer that is not 8-byte aligned");
  }
  buffer = {};
  buffer.data = data;
  buffer.size = size;
  buffer.max_records = max_records;
  buffer.entries.reserve(size / KernelRecordBytes() + 1);
  buffer.sequence = Hold();
  buffer.thread = static_cast<std::uint32_t>(gettid());
  TakeOwnership(buffer, g_client_zeroes.load(std::memory_order_relaxed));
  return true;
}

bool Fits(const Buffer& buffer, std::size_t bytes) {
  if (buffer.max_records != 0 && buffer.entries.size() >= buffer.max_records) return false;
  const std::size_t reserved =
      g_overhead.load(std::memory_order_relaxed) ? RecordBytes(CUPTI_ACTIVITY_KIND_OVERHEAD) : 0;
  return buffer.used + bytes + reserved <= buffer.size;
}

// Done contains the buffers that one record made ready for delivery: the buffer that the record did
// not fit into, and the buffer that the record filled.
struct Done {
  Buffer buffers[2];
  std::size_t count = 0;

  void Take(Buffer& buffer) { buffers[count++] = std::exchange(buffer, {}); }
};

// Writes a record into the slot, or counts it as dropped. `write` receives the address.
template <typename Write>
void Append(Slot& slot, std::size_t bytes, RecordTimes times, bool dropped, Write write,
            Done& done) {
  const auto lock = LockBuffer(slot.mutex, "a launch");
  Buffer& buffer = slot.buffer;
  if (!dropped && buffer.data != nullptr && !Fits(buffer, bytes)) done.Take(buffer);
  if (!dropped && buffer.data == nullptr && !Request(buffer)) dropped = true;
  if (!dropped && Fits(buffer, bytes)) {
    Reclaim(buffer);
    write(buffer.data + buffer.used);
    buffer.entries.push_back({times.start_ns, times.end_ns, static_cast<std::uint32_t>(buffer.used),
                              static_cast<std::uint32_t>(bytes), 0});
    Seal(buffer);
    buffer.used += bytes;
    buffer.last_end_ns = std::max(buffer.last_end_ns, times.end_ns);
  } else {
    g_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  if (buffer.data != nullptr && !Fits(buffer, bytes)) done.Take(buffer);
}

// Appends to the slot of this thread and hands over the buffers that become ready.
template <typename Write>
void Put(std::size_t bytes, RecordTimes times, bool dropped, Write write) {
  Done done;
  Append(SlotForThisThread(), bytes, times, dropped, write, done);
  for (std::size_t i = 0; i < done.count; ++i) HandToWorker(std::move(done.buffers[i]));
}

bool EveryNth(std::uint64_t n, std::uint64_t count) {
  return n != 0 && count % n == 0;
}

// Fate is the effect of FAKE_CUPTI_ZERO_TIMESTAMPS and FAKE_CUPTI_DROP on the next kernel or graph
// record.
struct Fate {
  bool without_times;
  bool dropped;
};

// `of_graph`: a kernel record of a graph. Before CUDA 13.3 the record leaks device memory unless
// copies are also recorded (parca-dev/parcagpu#23).
Fate NextFate(bool of_graph) {
  const std::uint64_t count = g_records.fetch_add(1, std::memory_order_relaxed) + 1;
  Fate fate = {EveryNth(settings().zero_every, count), EveryNth(settings().drop_every, count)};
  if (of_graph && settings().graph_leak_bytes != 0 && settings().version < 130300 &&
      !g_copies.load(std::memory_order_relaxed)) {
    const std::uint64_t leaked =
        g_leaked.fetch_add(settings().graph_leak_bytes, std::memory_order_relaxed);
    if (leaked + settings().graph_leak_bytes > DevicePoolBytes()) fate.without_times = true;
  }
  return fate;
}

// Writes the times that the record shows.
void WriteShownTimes(std::uint64_t start_ns, std::uint64_t end_ns, FakeGpuClockStep step, Fate fate,
                     std::uint8_t* at) {
  if (fate.without_times) {
    WriteTimes({0, 0}, at);
  } else if (step.at_start_ns != 0 || step.at_end_ns != 0) {
    WriteTimes({start_ns + static_cast<std::uint64_t>(step.at_start_ns),
                end_ns + static_cast<std::uint64_t>(step.at_end_ns)},
               at);
  }
}

// Takes the buffers that may be delivered out of their slots.
void TakeFromSlots(bool forced, std::vector<Buffer>& taken) {
  for (const std::shared_ptr<Slot>& slot : AllSlots()) {
    const auto lock = LockBuffer(slot->mutex, "cuptiActivityFlushAll");
    Buffer& buffer = slot->buffer;
    if (buffer.data == nullptr) continue;
    if (!forced && (buffer.entries.empty() || !HasEnded(buffer.last_end_ns))) continue;
    TakeInHand(buffer);
    taken.push_back(std::exchange(buffer, {}));
  }
  ForgetAbandonedSlots();
}

}  // namespace

void SetBufferCallbacks(CUpti_BuffersCallbackRequestFunc request,
                        CUpti_BuffersCallbackCompleteFunc complete) {
  g_request.store(request, std::memory_order_relaxed);
  g_complete.store(complete, std::memory_order_relaxed);
}

bool HasBufferCallbacks() {
  return g_request.load(std::memory_order_relaxed) != nullptr;
}

CUpti_BuffersCallbackCompleteFunc CompleteCallback() {
  return g_complete.load(std::memory_order_relaxed);
}

void SetZeroedOut(bool client_zeroes) {
  g_client_zeroes.store(client_zeroes, std::memory_order_relaxed);
}

void SetPerThread(bool per_thread) {
  g_per_thread.store(per_thread, std::memory_order_relaxed);
}

void SetKernelKind(CUpti_ActivityKind kind) {
  g_kind.store(kind, std::memory_order_relaxed);
}

void SetOverhead(bool on) {
  g_overhead.store(on, std::memory_order_relaxed);
}

void SetCopies(bool on) {
  g_copies.store(on, std::memory_order_relaxed);
}

bool OverheadIsOn() {
  return g_overhead.load(std::memory_order_relaxed);
}

void RecordKernel(const FakeGpuKernel* kernel) {
  Fate fate = NextFate(kernel->graph_id != 0);
  const CUpti_ActivityKind kind = g_kind.load(std::memory_order_relaxed);
  // As documented for the real CUPTI.
  if (kind == CUPTI_ACTIVITY_KIND_KERNEL && kernel->graph_id != 0) fate.without_times = true;
  Put(KernelRecordBytes(), {kernel->start_ns, kernel->end_ns}, fate.dropped, [&](std::uint8_t* at) {
    WriteKernelRecord(*kernel, kind, at);
    WriteShownTimes(kernel->start_ns, kernel->end_ns, kernel->step, fate, at);
  });
  SpendOverhead(settings().overhead_ns);
}

void RecordGraph(const FakeGpuGraph* graph) {
  const Fate fate = NextFate(false);
  Put(RecordBytes(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), {graph->start_ns, graph->end_ns}, fate.dropped,
      [&](std::uint8_t* at) {
        WriteGraphRecord(*graph, at);
        WriteShownTimes(graph->start_ns, graph->end_ns, graph->step, fate, at);
      });
  SpendOverhead(settings().overhead_ns);
}

void RecordModuleLoad() {
  const std::uint64_t begin_ns = ConnectedDriver()->now();
  const std::uint64_t cost_ns = settings().instrumentation_ns;
  SpendOverhead(cost_ns);
  if (!OverheadIsOn()) return;
  const RecordTimes times = {begin_ns, begin_ns + cost_ns};
  Put(RecordBytes(CUPTI_ACTIVITY_KIND_OVERHEAD), times, false, [&](std::uint8_t* at) {
    WriteOverheadRecord(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, times.start_ns, times.end_ns,
                        static_cast<std::uint32_t>(gettid()), at);
  });
}

void Flush(bool forced) {
  std::vector<Buffer> taken;
  TakeFromWorker(forced, taken);
  TakeFromSlots(forced, taken);
  if (settings().late && !forced) {
    for (Buffer& buffer : taken) HandToWorker(std::move(buffer));
    return;  // the worker delivers them, and this thread does not wait
  }
  for (Buffer& buffer : taken) Deliver(std::move(buffer), forced);
  AwaitDeliveries();
}

std::uint64_t TakeDropped() {
  constexpr const char* kCall = "cuptiActivityGetNumDroppedRecords";
  AwaitCallbacks(kCall);
  for (const std::shared_ptr<Slot>& slot : AllSlots()) LockBuffer(slot->mutex, kCall);
  return g_dropped.exchange(0, std::memory_order_relaxed);
}

}  // namespace fake_cupti
