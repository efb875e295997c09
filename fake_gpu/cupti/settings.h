// SPDX-License-Identifier: Apache-2.0
//
// Settings of the simulated CUPTI: libcupti.so.13 reads all its environment variables once, on
// first use, except FAKE_CUPTI_FAIL (entry.h). docs/design/fake-gpu.md lists them.
#pragma once

#include <cstdint>
#include <string>

namespace fake_cupti {

struct Settings {
  // FAKE_CUPTI_VERSION: decides the size of records (records.h). Below 27, a client that returns no
  // buffer crashes the process, as with CUPTI before 12.9.
  std::uint32_t version;
  // FAKE_CUPTI_OCCUPIED: name of a tool that already holds the subscriber slot.
  std::string occupied_by;
  // FAKE_CUPTI_ZERO_TIMESTAMPS=N: every Nth kernel record has start == end == 0.
  std::uint64_t zero_every = 0;
  // FAKE_CUPTI_DROP=N: every Nth kernel record is dropped and counted as dropped.
  std::uint64_t drop_every = 0;
  // FAKE_CUPTI_TICKS: ticks of cuptiGetTimestamp per nanosecond, as after Kineto has registered the
  // processor's cycle counter. Does not change records.
  double ticks = 1;
  // FAKE_CUPTI_LATE=1: the worker thread delivers the buffers of FlushAll after it has returned.
  bool late = false;
  // FAKE_CUPTI_OVERHEAD_NS: cost of recording for the launching thread, per record. The thread
  // takes that long (on the virtual clock, if used), and OVERHEAD records report it.
  std::uint64_t overhead_ns = 0;
  // FAKE_CUPTI_INSTRUMENTATION_NS: the same for each module load.
  std::uint64_t instrumentation_ns = 0;
  // FAKE_CUPTI_GUARD=1: the client cannot access buffers that the simulated CUPTI owns.
  bool guard = false;
  // FAKE_CUPTI_DEADLOCK_MS: a longer wait for a client callback is a deadlock. The default
  // tolerates a busy machine.
  std::uint64_t deadlock_ms = 30'000;
  // FAKE_CUPTI_CALLBACK_US: how long CUPTI holds its lock before it calls the client. Makes
  // timing-dependent deadlocks reproducible.
  std::uint64_t callback_us = 0;
  // FAKE_CUPTI_GRAPH_LEAK: bytes of device memory that each kernel record of a graph leaks, before
  // version 130300 and unless MEMCPY and MEMSET are also enabled. If the leak exceeds
  // DEVICE_BUFFER_SIZE times DEVICE_BUFFER_POOL_LIMIT, these records have no times. The known value
  // for the real CUPTI is 32.
  std::uint64_t graph_leak_bytes = 0;
  // FAKE_CUPTI_FORK=hang: a call in a forked child never returns, as with the real CUPTI; abort: it
  // ends the process.
  bool fork_hangs = false;
  // FAKE_CUPTI_MAX_PENDING: maximum number of full buffers waiting for the worker. With the virtual
  // clock, a launch waits beyond that, because nothing else slows the program to the speed of a
  // GPU: it fills a buffer of 512 KiB in 0.2 ms, while kernels of 5 us take 12 ms.
  std::uint64_t max_pending = 1;
};

const Settings& settings();

}  // namespace fake_cupti
