// SPDX-License-Identifier: Apache-2.0
#include "cupti/records.h"

#include <unistd.h>

#include <cstring>

#include "cupti/settings.h"

namespace fake_cupti {
namespace {

using NewestKernel = CUpti_ActivityKernel10;

static_assert(sizeof(CUpti_ActivityKernel4) == 144 && sizeof(CUpti_ActivityKernel5) == 160 &&
              sizeof(CUpti_ActivityKernel6) == 168 && sizeof(CUpti_ActivityKernel7) == 176 &&
              sizeof(CUpti_ActivityKernel8) == 200 && sizeof(CUpti_ActivityKernel9) == 208 &&
              sizeof(NewestKernel) == 216);
// Returns whether the older record is a prefix of the newest one in the fields that the simulated
// CUPTI fills.
template <typename Older>
constexpr bool IsBeginning() {
  return offsetof(Older, start) == offsetof(NewestKernel, start) &&
         offsetof(Older, correlationId) == offsetof(NewestKernel, correlationId) &&
         offsetof(Older, name) == offsetof(NewestKernel, name) &&
         offsetof(Older, launchType) == offsetof(NewestKernel, launchType);
}
static_assert(IsBeginning<CUpti_ActivityKernel4>() && IsBeginning<CUpti_ActivityKernel5>() &&
              IsBeginning<CUpti_ActivityKernel6>() && IsBeginning<CUpti_ActivityKernel7>() &&
              IsBeginning<CUpti_ActivityKernel8>() && IsBeginning<CUpti_ActivityKernel9>());
static_assert(offsetof(CUpti_ActivityKernel5, graphNodeId) == offsetof(NewestKernel, graphNodeId) &&
              offsetof(CUpti_ActivityKernel5, graphId) == offsetof(NewestKernel, graphId));
static_assert(sizeof(CUpti_ActivityGraphTrace) == 48 && sizeof(CUpti_ActivityGraphTrace2) == 56);
static_assert(sizeof(CUpti_ActivityOverhead) == 40 && sizeof(CUpti_ActivityOverhead2) == 48 &&
              sizeof(CUpti_ActivityOverhead3) == 56);

struct SizeSince {
  std::uint32_t version;
  std::size_t bytes;
};
constexpr SizeSince kKernelSizes[] = {{130400, 248}, {130300, 232}, {130100, 224}, {130000, 216},
                                      {19, 208},     {18, 200},     {16, 176},     {14, 168},
                                      {13, 160},     {0, 144}};
constexpr SizeSince kGraphSizes[] = {{21, 56}, {0, 48}};
constexpr SizeSince kOverheadSizes[] = {{22, 56}, {21, 48}, {0, 40}};

template <std::size_t kCount>
std::size_t SizeNow(const SizeSince (&sizes)[kCount]) {
  for (const SizeSince& size : sizes) {
    if (settings().version >= size.version) return size.bytes;
  }
  return 0;
}

std::size_t OffsetOfTimes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return offsetof(CUpti_ActivityGraphTrace2, start);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return offsetof(CUpti_ActivityOverhead3, start);
    default:
      return offsetof(NewestKernel, start);
  }
}
static_assert(offsetof(CUpti_ActivityGraphTrace2, end) ==
              offsetof(CUpti_ActivityGraphTrace2, start) + 8);
static_assert(offsetof(CUpti_ActivityOverhead3, end) ==
              offsetof(CUpti_ActivityOverhead3, start) + 8);
static_assert(offsetof(NewestKernel, end) == offsetof(NewestKernel, start) + 8);

}  // namespace

std::size_t KernelRecordBytes() {
  static const std::size_t bytes = SizeNow(kKernelSizes);
  return bytes;
}

std::size_t RecordBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return KernelRecordBytes();
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return SizeNow(kGraphSizes);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return SizeNow(kOverheadSizes);
    default:
      return 0;
  }
}

void WriteKernelRecord(const FakeGpuKernel& kernel, CUpti_ActivityKind kind, unsigned char* at) {
  const std::size_t bytes = KernelRecordBytes();
  NewestKernel older;  // used if the record is shorter than the newest
  NewestKernel& record = bytes < sizeof older ? older : *reinterpret_cast<NewestKernel*>(at);
  std::memset(&record, 0, sizeof record);
  record.kind = kind;
  record.registersPerThread = static_cast<std::uint16_t>(kernel.registers_per_thread);
  record.start = kernel.start_ns;
  record.end = kernel.end_ns;
  record.completed = kernel.end_ns;
  record.deviceId = kernel.device;
  record.contextId = kernel.context_uid;
  record.streamId = kernel.stream_id;
  record.gridX = static_cast<std::int32_t>(kernel.grid[0]);
  record.gridY = static_cast<std::int32_t>(kernel.grid[1]);
  record.gridZ = static_cast<std::int32_t>(kernel.grid[2]);
  record.blockX = static_cast<std::int32_t>(kernel.block[0]);
  record.blockY = static_cast<std::int32_t>(kernel.block[1]);
  record.blockZ = static_cast<std::int32_t>(kernel.block[2]);
  record.dynamicSharedMemory = static_cast<std::int32_t>(kernel.dynamic_shared_bytes);
  record.correlationId = kernel.correlation_id;
  record.gridId = static_cast<std::int64_t>(kernel.correlation_id);
  record.name = kernel.name;
  record.launchType = static_cast<std::uint8_t>(kernel.launch_type);
  record.graphNodeId = kernel.graph_node_id;
  record.graphId = kernel.graph_id;
  if (bytes < sizeof record) {
    std::memcpy(at, &older, bytes);
  } else {
    std::memset(at + sizeof record, 0xA5, bytes - sizeof record);
  }
}

void WriteGraphRecord(const FakeGpuGraph& graph, unsigned char* at) {
  CUpti_ActivityGraphTrace2 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
  record.correlationId = graph.correlation_id;
  record.start = graph.start_ns;
  record.end = graph.end_ns;
  record.deviceId = record.endDeviceId = graph.device;
  record.graphId = graph.graph_id;
  record.contextId = record.endContextId = graph.context_uid;
  record.streamId = graph.stream_id;
  std::memcpy(at, &record, RecordBytes(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
}

void WriteOverheadRecord(CUpti_ActivityOverheadKind what, std::uint64_t start_ns,
                         std::uint64_t end_ns, std::uint32_t thread, unsigned char* at) {
  CUpti_ActivityOverhead3 record;
  std::memset(&record, 0, sizeof record);
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = what;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
  record.objectId.pt.threadId = thread;
  record.start = start_ns;
  record.end = end_ns;
  std::memcpy(at, &record, RecordBytes(CUPTI_ACTIVITY_KIND_OVERHEAD));
}

CUpti_ActivityKind KindOf(const unsigned char* record) {
  CUpti_ActivityKind kind;
  std::memcpy(&kind, record, sizeof kind);
  return kind;
}

RecordTimes ReadTimes(const unsigned char* record) {
  RecordTimes times;
  std::memcpy(&times, record + OffsetOfTimes(KindOf(record)), sizeof times);
  return times;
}

void WriteTimes(RecordTimes times, unsigned char* record) {
  std::memcpy(record + OffsetOfTimes(KindOf(record)), &times, sizeof times);
}

}  // namespace fake_cupti
