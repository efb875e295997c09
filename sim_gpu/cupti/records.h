// SPDX-License-Identifier: Apache-2.0
//
// The layout of activity records, by the version that the fake claims to be (FAKE_CUPTI_VERSION).
//
// Kernel records have only grown since CUDA 10.1, so one function fills them all:
//
//   version   12    13    14..15   16..17   18    19..  130000  130100  130300  130400
//   record    K4    K5    K6       K7       K8    K9    K10     K11     K12     K13
//   bytes     144   160   168      176      200   208   216     224     232     248
//
// CUDA 11.1 to 11.4 all have version 14. The records of CUDA 11.1 alone have 160 bytes; the fake
// plays the later ones. record_sizes_test compares this table with NVIDIA's libraries.
//
// Those after K10 are in no header of the build: their sizes are made up, and what is beyond K10 is
// filled with 0xA5. What counts is that a client must walk with cuptiActivityGetNextRecord.
//
// THREADS: any.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "fake_gpu.h"

namespace fake_cupti {

// The size of a record of this kind; 0 for kinds that the fake yields none of.
std::size_t RecordBytes(CUpti_ActivityKind kind);
std::size_t KernelRecordBytes();

// Each writes one record of RecordBytes() to `at`.
void WriteKernelRecord(const FakeGpuKernel& kernel, CUpti_ActivityKind kind, unsigned char* at);
void WriteGraphRecord(const FakeGpuGraph& graph, unsigned char* at);
// `thread` is the kernel's id of the thread that lost the time.
void WriteOverheadRecord(CUpti_ActivityOverheadKind what, std::uint64_t start_ns,
                         std::uint64_t end_ns, std::uint32_t thread, unsigned char* at);

// What all records begin with.
CUpti_ActivityKind KindOf(const unsigned char* record);

// The times within a record written above.
struct RecordTimes {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};
RecordTimes ReadTimes(const unsigned char* record);
void WriteTimes(RecordTimes times, unsigned char* record);

}  // namespace fake_cupti
