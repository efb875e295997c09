// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffers.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cupti/buffer.h"
#include "cupti/delivery.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/records.h"
#include "cupti/settings.h"

namespace fake_cupti {
namespace {

// Slot is where launches of one thread, or of all, write.
struct Slot {
  std::mutex mutex;
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

// Relaxed throughout: switches and counters; the client serialises what must be in order.
std::atomic<CUpti_BuffersCallbackRequestFunc> g_request{nullptr};
std::atomic<CUpti_BuffersCallbackCompleteFunc> g_complete{nullptr};
std::atomic<bool> g_client_zeroes{false};
std::atomic<bool> g_per_thread{true};
std::atomic<CUpti_ActivityKind> g_kind{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
std::atomic<bool> g_overhead{false};
std::atomic<std::uint64_t> g_dropped{0};
std::atomic<std::uint64_t> g_records{0};

// Registers the slot of this thread, and gives it up when the thread ends: what is in it stays to
// be flushed.
class ThreadSlot {
 public:
  ThreadSlot() : slot_(std::make_shared<Slot>()) {
    const std::lock_guard lock(registry().mutex);
    registry().slots.push_back(slot_);
  }
  ~ThreadSlot() {
    const std::lock_guard lock(registry().mutex);
    slot_->abandoned = true;
  }
  Slot& slot() { return *slot_; }

 private:
  std::shared_ptr<Slot> slot_;
};

Slot& SlotForThisThread() {
  if (!g_per_thread.load(std::memory_order_relaxed)) return *registry().shared;
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
    const std::lock_guard slot_lock(slot->mutex);
    return slot->buffer.data == nullptr;
  });
}

// Asks the client for a buffer; false when it gives none.
bool Request(Buffer& buffer) {
  const auto request = g_request.load(std::memory_order_relaxed);
  if (request == nullptr) return false;
  std::uint8_t* data = nullptr;
  std::size_t size = 0;
  std::size_t max_records = 0;
  {
    const ScopedRole role(ThreadRole::kBufferCallback);
    request(&data, &size, &max_records);
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
  if (!g_client_zeroes.load(std::memory_order_relaxed)) std::memset(data, 0, size);
  buffer = {};
  buffer.data = data;
  buffer.size = size;
  buffer.max_records = max_records;
  buffer.entries.reserve(size / KernelRecordBytes() + 1);
  buffer.sequence = Hold();
  buffer.thread = static_cast<std::uint32_t>(gettid());
  return true;
}

bool Fits(const Buffer& buffer, std::size_t bytes) {
  if (buffer.max_records != 0 && buffer.entries.size() >= buffer.max_records) return false;
  const std::size_t reserved =
      g_overhead.load(std::memory_order_relaxed) ? RecordBytes(CUPTI_ACTIVITY_KIND_OVERHEAD) : 0;
  return buffer.used + bytes + reserved <= buffer.size;
}

// Buffers that one record has made ready for delivery: the one it did not fit into, and the one
// that is full because of it.
struct Done {
  Buffer buffers[2];
  std::size_t count = 0;

  void Take(Buffer& buffer) { buffers[count++] = std::exchange(buffer, {}); }
};

// Puts a record into the slot, or counts it as dropped. `write` gets the address.
template <typename Write>
void Append(Slot& slot, std::size_t bytes, RecordTimes times, bool dropped, Write write,
            Done& done) {
  const std::lock_guard lock(slot.mutex);
  Buffer& buffer = slot.buffer;
  if (!dropped && buffer.data != nullptr && !Fits(buffer, bytes)) done.Take(buffer);
  if (!dropped && buffer.data == nullptr && !Request(buffer)) dropped = true;
  if (!dropped && Fits(buffer, bytes)) {
    write(buffer.data + buffer.used);
    buffer.entries.push_back({times.start_ns, times.end_ns, static_cast<std::uint32_t>(buffer.used),
                              static_cast<std::uint32_t>(bytes)});
    buffer.used += bytes;
    buffer.last_end_ns = std::max(buffer.last_end_ns, times.end_ns);
  } else {
    g_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  if (buffer.data != nullptr && !Fits(buffer, bytes)) done.Take(buffer);
}

// As Append, into the slot of this thread; hands on what that fills.
template <typename Write>
void Put(std::size_t bytes, RecordTimes times, bool dropped, Write write) {
  Done done;
  Append(SlotForThisThread(), bytes, times, dropped, write, done);
  for (std::size_t i = 0; i < done.count; ++i) HandToWorker(std::move(done.buffers[i]));
}

bool EveryNth(std::uint64_t n, std::uint64_t count) {
  return n != 0 && count % n == 0;
}

// What FAKE_CUPTI_ZERO_TIMESTAMPS and FAKE_CUPTI_DROP say about the next record of a kernel or
// graph.
struct Fate {
  bool without_times;
  bool dropped;
};

Fate NextFate() {
  const std::uint64_t count = g_records.fetch_add(1, std::memory_order_relaxed) + 1;
  return {EveryNth(settings().zero_every, count), EveryNth(settings().drop_every, count)};
}

// Takes the buffers out of their slots that may be delivered.
void TakeFromSlots(bool forced, std::vector<Buffer>& taken) {
  for (const std::shared_ptr<Slot>& slot : AllSlots()) {
    const std::lock_guard lock(slot->mutex);
    Buffer& buffer = slot->buffer;
    if (buffer.data == nullptr) continue;
    if (!forced && (buffer.entries.empty() || !HasEnded(buffer.last_end_ns))) continue;
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

bool OverheadIsOn() {
  return g_overhead.load(std::memory_order_relaxed);
}

void RecordKernel(const FakeGpuKernel* kernel) {
  const Fate fate = NextFate();
  const RecordTimes times = {kernel->start_ns, kernel->end_ns};
  const CUpti_ActivityKind kind = g_kind.load(std::memory_order_relaxed);
  if (!fate.without_times) {
    Put(KernelRecordBytes(), times, fate.dropped,
        [&](std::uint8_t* at) { WriteKernelRecord(*kernel, kind, at); });
  } else {
    FakeGpuKernel shown = *kernel;
    shown.start_ns = shown.end_ns = 0;
    Put(KernelRecordBytes(), times, fate.dropped,
        [&](std::uint8_t* at) { WriteKernelRecord(shown, kind, at); });
  }
  SpendOverhead(settings().overhead_ns);
}

void RecordGraph(const FakeGpuGraph* graph) {
  const Fate fate = NextFate();
  const RecordTimes times = {graph->start_ns, graph->end_ns};
  FakeGpuGraph shown = *graph;
  if (fate.without_times) shown.start_ns = shown.end_ns = 0;
  Put(RecordBytes(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), times, fate.dropped,
      [&](std::uint8_t* at) { WriteGraphRecord(shown, at); });
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
    return;
  }
  for (Buffer& buffer : taken) Deliver(std::move(buffer), forced);
  WaitForWorker();
}

std::uint64_t TakeDropped() {
  return g_dropped.exchange(0, std::memory_order_relaxed);
}

}  // namespace fake_cupti
