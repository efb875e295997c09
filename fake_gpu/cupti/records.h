// SPDX-License-Identifier: Apache-2.0
//
// The layout of activity records for the version that the simulated CUPTI reports
// (FAKE_CUPTI_VERSION).
//
// Kernel records have only grown since CUDA 10.1, so one function fills them all:
//
//   version   12    13    14..15   16..17   18    19..  130000  130100  130300  130400
//   record    K4    K5    K6       K7       K8    K9    K10     K11     K12     K13
//   bytes     144   160   168      176      200   208   216     224     232     248
//
// CUDA 11.1 to 11.4 all report version 14. Only CUDA 11.1 has records of 160 bytes; the simulated
// CUPTI uses the later size. record_sizes_test compares this table with NVIDIA's libraries.
//
// The build's headers do not contain the records after K10: their sizes are invented, and the bytes
// after K10 are filled with 0xA5. Their purpose is to require clients to iterate with
// cuptiActivityGetNextRecord.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "fake_gpu.h"

namespace fake_cupti {

// Returns the size of a record of this kind; 0 for kinds that the simulated CUPTI does not record.
std::size_t RecordBytes(CUpti_ActivityKind kind);
std::size_t KernelRecordBytes();

// Each writes one record of RecordBytes() to `at`.
void WriteKernelRecord(const FakeGpuKernel& kernel, CUpti_ActivityKind kind, unsigned char* at);
void WriteGraphRecord(const FakeGpuGraph& graph, unsigned char* at);
// `thread` is the operating system's id of the thread that lost the time.
void WriteOverheadRecord(CUpti_ActivityOverheadKind what, std::uint64_t start_ns,
                         std::uint64_t end_ns, std::uint32_t thread, unsigned char* at);

// Returns the kind, which is the first field of every record.
CUpti_ActivityKind KindOf(const unsigned char* record);

// RecordTimes contains the times of a record written above.
struct RecordTimes {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};
RecordTimes ReadTimes(const unsigned char* record);
void WriteTimes(RecordTimes times, unsigned char* record);

}  // namespace fake_cupti
