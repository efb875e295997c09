// SPDX-License-Identifier: Apache-2.0
//
// Settings of the fake CUPTI: every environment variable that libcupti.so.13 reads, once, at the
// first use, but for FAKE_CUPTI_FAIL (scripted_error.h). docs/design/fake-gpu.md lists them.
#pragma once

#include <cstdint>
#include <string>

namespace fake_cupti {

struct Settings {
  // FAKE_CUPTI_VERSION. Decides the size of records (records.h); below 27 a client that returns no
  // buffer crashes the process, as CUPTI before 12.9 does.
  std::uint32_t version;
  // FAKE_CUPTI_OCCUPIED: name of a tool that holds the subscriber slot already.
  std::string occupied_by;
  // FAKE_CUPTI_ZERO_TIMESTAMPS=N: every Nth kernel record has start == end == 0.
  std::uint64_t zero_every = 0;
  // FAKE_CUPTI_DROP=N: every Nth kernel record is dropped, and counted as such.
  std::uint64_t drop_every = 0;
  // FAKE_CUPTI_TICKS: what cuptiGetTimestamp counts per nanosecond, as after Kineto has installed the
  // processor's cycle counter. Records are not changed.
  double ticks = 1;
  // FAKE_CUPTI_LATE=1: what FlushAll finds is delivered by the worker thread, after it returned.
  bool late = false;
  // FAKE_CUPTI_OVERHEAD_NS: what recording costs the launching thread, per record. It takes that
  // long (under the virtual clock, of that clock), and OVERHEAD records say so.
  std::uint64_t overhead_ns = 0;
  // FAKE_CUPTI_INSTRUMENTATION_NS: the same for each module that is loaded.
  std::uint64_t instrumentation_ns = 0;
  // FAKE_CUPTI_GUARD=1: buffers that the fake owns are unreadable for the client.
  bool guard = false;
  // FAKE_CUPTI_DEADLOCK_MS: who waits for a callback of the client's for longer has deadlocked. The
  // default leaves a busy machine its time.
  std::uint64_t deadlock_ms = 30'000;
  // FAKE_CUPTI_CALLBACK_US: how long CUPTI holds its lock before it calls the client. A deadlock that
  // needs the right moment comes for certain.
  std::uint64_t callback_us = 0;
  // FAKE_CUPTI_GRAPH_LEAK: bytes of device memory that each kernel record of a graph leaks, before
  // version 130300 and unless MEMCPY and MEMSET are on too; once they exceed DEVICE_BUFFER_SIZE times
  // DEVICE_BUFFER_POOL_LIMIT, such records have no times. 32 is what is known of the real one.
  std::uint64_t graph_leak_bytes = 0;
  // FAKE_CUPTI_FORK=hang: a call in a forked child never returns, as the real one; abort: it ends the
  // process.
  bool fork_hangs = false;
  // FAKE_CUPTI_MAX_PENDING: full buffers that may wait for the worker. Under the virtual clock a
  // launch waits beyond that, because nothing else slows the program down to what a GPU would do:
  // it fills a buffer of 512 KiB in 0.2 ms, where kernels of 5 us take 12 ms.
  std::uint64_t max_pending = 1;
};

const Settings& settings();

}  // namespace fake_cupti
