// SPDX-License-Identifier: Apache-2.0
//
// GraphNames gives CUDA graphs names at level graph, where the launch of a graph is one record that
// contains only the number of the executable graph. When a graph is instantiated, its
// structure is read and hashed, and the name is stored under that number until its records arrive:
//
//   EXIT of an instantiation ─► GraphReader ─► HashGraph ─► GraphNameTable ◄─ RecordDecoder
//
// Numbers differ from process to process, and after each instantiation. Names by structure are the
// same wherever the same kernels are connected in the same way. A graph that is updated
// (cuGraphExecUpdate) keeps its name: records arrive long after the update that followed the
// launch, and updates change parameters much more often than kernels.
//
// If a graph cannot be read, or the driver or CUPTI is too old, the name is the number with the
// process, so that graphs of different processes do not become one kernel.
//
// THREADS: OnCallback runs concurrently on any application thread, and calls the driver; Write runs
// on the decoder, Watch on the flusher.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "graphs/graph_name_table.h"
#include "graphs/graph_reader.h"
#include "startup/cupti_api.h"
#include "startup/session_files.h"

namespace stemtap::inject {

class DurationEngine;

class GraphNames {
 public:
  // Enables the callbacks of instantiations and registers Watch with the engine's flusher. `driver`
  // is the libcuda that describes graphs. Returns false if graphs are named by number; then nothing
  // is enabled. Call before engine.Start.
  bool Start(SessionFiles& files, DurationEngine& engine, const CuptiApi& api, void* driver,
             CUpti_SubscriberHandle subscriber) noexcept;

  // Disables the callbacks, if they are enabled.
  void Stop() noexcept;

  static void CUPTIAPI OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                  const void* data);

  // Writes the name of a graph. Returns its length. Reports once why graphs are named by number.
  std::uint32_t Write(std::uint32_t graph_id, char (&name)[kGraphNameBytes]) noexcept;

 private:
  bool EnableCallbacks(CUpti_SubscriberHandle subscriber) noexcept;
  void Name(CUgraph graph, CUgraphExec exec) noexcept;
  void Watch() noexcept;

  SessionFiles* files_ = nullptr;
  DurationEngine* engine_ = nullptr;
  const CuptiApi* api_ = nullptr;
  // Set while callbacks are enabled. Written by Start, and taken by the first thread that calls
  // Stop; relaxed: it publishes no other data.
  std::atomic<CUpti_SubscriberHandle> subscriber_{nullptr};
  GraphDriver driver_;
  // Why no graph has a name by structure. Written before the first callback and record.
  GraphProblem problem_;
  std::uint32_t tag_ = 0;  // of this process, in names by number
  bool said_why_ = false;  // accessed by the decoder only
  GraphNameTable table_;
};

}  // namespace stemtap::inject
