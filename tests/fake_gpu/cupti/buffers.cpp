// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cupti/buffer.h"
#include "cupti/delivery.h"
#include "cupti/driver.h"
#include "cupti/entry.h"
#include "cupti/kernel_record.h"
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

// Asks the client for a buffer; false when it gives none that can hold a record.
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
  buffer.capacity = size / KernelRecordBytes();
  if (max_records != 0) buffer.capacity = std::min(buffer.capacity, max_records);
  buffer.sequence = Hold();
  return true;
}

bool EveryNth(std::uint64_t n, std::uint64_t count) {
  return n != 0 && count % n == 0;
}

// Puts a record into the slot, or counts it as dropped. A buffer that is full is moved to `full`.
void Append(Slot& slot, FakeGpuKernel kernel, Buffer& full) {
  const std::uint64_t count = g_records.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t end_ns = kernel.end_ns;
  if (EveryNth(settings().zero_every, count)) kernel.start_ns = kernel.end_ns = 0;
  bool dropped = EveryNth(settings().drop_every, count);

  const std::lock_guard lock(slot.mutex);
  Buffer& buffer = slot.buffer;
  if (!dropped && buffer.data == nullptr && !Request(buffer)) dropped = true;
  if (!dropped && buffer.used < buffer.capacity) {
    WriteKernelRecord(kernel, g_kind.load(std::memory_order_relaxed),
                      buffer.data + buffer.used * KernelRecordBytes());
    ++buffer.used;
    buffer.last_end_ns = std::max(buffer.last_end_ns, end_ns);
  } else {
    g_dropped.fetch_add(1, std::memory_order_relaxed);
  }
  if (buffer.data != nullptr && buffer.used >= buffer.capacity) {
    full = buffer;
    buffer = {};
  }
}

// Takes the buffers out of their slots that may be delivered.
void TakeFromSlots(bool forced, std::vector<Buffer>& taken) {
  for (const std::shared_ptr<Slot>& slot : AllSlots()) {
    const std::lock_guard lock(slot->mutex);
    Buffer& buffer = slot->buffer;
    if (buffer.data == nullptr) continue;
    if (!forced && (buffer.used == 0 || !HasEnded(buffer.last_end_ns))) continue;
    taken.push_back(buffer);
    buffer = {};
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

void RecordKernel(const FakeGpuKernel* kernel) {
  Buffer full;
  Append(SlotForThisThread(), *kernel, full);
  if (full.data != nullptr) HandToWorker(full);
}

void Flush(bool forced) {
  std::vector<Buffer> taken;
  TakeFromWorker(forced, taken);
  TakeFromSlots(forced, taken);
  if (settings().late && !forced) {
    for (const Buffer& buffer : taken) HandToWorker(buffer);
    return;
  }
  for (Buffer& buffer : taken) Deliver(buffer, forced);
  WaitForWorker();
}

std::uint64_t TakeDropped() {
  return g_dropped.exchange(0, std::memory_order_relaxed);
}

}  // namespace fake_cupti
