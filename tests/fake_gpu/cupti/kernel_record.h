// SPDX-License-Identifier: Apache-2.0
//
// The layout of kernel records. CUPTI 13 writes CUpti_ActivityKernel10, 12.x CUpti_ActivityKernel9,
// which is its beginning; one function fills both.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstring>

#include "cupti/settings.h"
#include "fake_gpu.h"

namespace fake_cupti {

using KernelRecord = CUpti_ActivityKernel10;
using OldKernelRecord = CUpti_ActivityKernel9;

static_assert(sizeof(KernelRecord) == 216 && sizeof(OldKernelRecord) == 208);
static_assert(offsetof(KernelRecord, start) == offsetof(OldKernelRecord, start) &&
              offsetof(KernelRecord, name) == offsetof(OldKernelRecord, name) &&
              offsetof(KernelRecord, graphNodeId) == offsetof(OldKernelRecord, graphNodeId) &&
              offsetof(KernelRecord, graphId) == offsetof(OldKernelRecord, graphId) &&
              offsetof(KernelRecord, maxActiveClusters) ==
                  offsetof(OldKernelRecord, maxActiveClusters));

inline std::size_t KernelRecordBytes() {
  return settings().version < 130000 ? sizeof(OldKernelRecord) : sizeof(KernelRecord);
}

// Writes the record of `kernel` to `at`, KernelRecordBytes() long.
inline void WriteKernelRecord(const FakeGpuKernel& kernel, CUpti_ActivityKind kind,
                              unsigned char* at) {
  KernelRecord record;
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
  std::memcpy(at, &record, KernelRecordBytes());
}

// The times within a record written above.
struct RecordTimes {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

inline RecordTimes ReadTimes(const unsigned char* record) {
  RecordTimes times;
  static_assert(offsetof(KernelRecord, end) == offsetof(KernelRecord, start) + 8);
  std::memcpy(&times, record + offsetof(KernelRecord, start), sizeof times);
  return times;
}

inline void WriteTimes(RecordTimes times, unsigned char* record) {
  std::memcpy(record + offsetof(KernelRecord, start), &times, sizeof times);
}

}  // namespace fake_cupti
