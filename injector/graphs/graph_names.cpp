// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_names.h"

#include <stdio.h>
#include <string.h>

#include "recording/duration_engine.h"
#include "shm/context_key.h"
#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

// All calls that instantiate a graph; which of them exist depends on the version of CUDA.
constexpr CUpti_CallbackId kInstantiations[] = {
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate,
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams,
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz,
};

struct Instantiation {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

template <typename Params>
Instantiation ReadParams(const void* params) noexcept {
  const auto& p = *static_cast<const Params*>(params);
  return {p.hGraph, p.phGraphExec == nullptr ? nullptr : *p.phGraphExec};
}

Instantiation ReadInstantiation(CUpti_CallbackId cbid, const void* params) noexcept {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
      return ReadParams<cuGraphInstantiate_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
      return ReadParams<cuGraphInstantiate_v2_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
      return ReadParams<cuGraphInstantiateWithFlags_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
      return ReadParams<cuGraphInstantiateWithParams_params>(params);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      return ReadParams<cuGraphInstantiateWithParams_ptsz_params>(params);
    default:
      return {};
  }
}

// Returns a number that differs between processes, also between processes with equal ids: of
// containers, of machines, and of one shell after another.
std::uint32_t TagOf(const shm::RingHeader& header) noexcept {
  const std::uint64_t process =
      (std::uint64_t{header.pid_namespace} << 32) | static_cast<std::uint32_t>(header.pid);
  return static_cast<std::uint32_t>(shm::MixKeys(RealtimeNs(), process) >> 32);
}

}  // namespace

bool GraphNames::Start(SessionFiles& files, DurationEngine& engine, const CuptiApi& api,
                       void* driver, CUpti_SubscriberHandle subscriber) noexcept {
  files_ = &files;
  engine_ = &engine;
  api_ = &api;
  tag_ = TagOf(files.ring().header);
  problem_ = driver_.Load(driver);
  if (!problem_ && api.GetGraphExecId == nullptr) {
    problem_ = {GraphProblem::kCuptiLacks, static_cast<std::uint8_t>(GraphCall::kGetExecId), 0};
  }
  if (problem_ || !EnableCallbacks(subscriber)) return false;
  engine.AlsoCall(
      [](void* self) {
        static_cast<GraphNames*>(self)->Watch();
        return true;
      },
      this);
  return true;
}

// Returns false if CUPTI refuses all callbacks.
bool GraphNames::EnableCallbacks(CUpti_SubscriberHandle subscriber) noexcept {
  CUptiResult last = CUPTI_SUCCESS;
  bool any = false;
  for (const CUpti_CallbackId cbid : kInstantiations) {
    const CUptiResult result =
        api_->EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
    if (result != CUPTI_SUCCESS) last = result;
    any |= result == CUPTI_SUCCESS;
  }
  if (any) {
    subscriber_.store(subscriber, std::memory_order_relaxed);
  } else {
    problem_ = {GraphProblem::kRefused, 0, static_cast<std::uint16_t>(last)};
  }
  return any;
}

void GraphNames::Stop() noexcept {
  const CUpti_SubscriberHandle subscriber =
      subscriber_.exchange(nullptr, std::memory_order_relaxed);
  if (subscriber == nullptr) return;
  for (const CUpti_CallbackId cbid : kInstantiations) {
    api_->EnableCallback(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid);
  }
}

// Called on the flusher once per period. If nothing is recorded any more, no name is needed. While
// recording is off, graphs are named, because they may be launched when it is on again.
void GraphNames::Watch() noexcept {
  if (engine_->ended()) Stop();
}

void CUPTIAPI GraphNames::OnCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                                     const void* callback_data) {
  auto& names = *static_cast<GraphNames*>(self);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || names.engine_->abandoned()) return;
  const auto& data = *static_cast<const CUpti_CallbackData*>(callback_data);
  const auto* result = static_cast<const CUresult*>(data.functionReturnValue);
  if (data.callbackSite != CUPTI_API_EXIT || (result != nullptr && *result != CUDA_SUCCESS)) return;
  const Instantiation call = ReadInstantiation(cbid, data.functionParams);
  if (call.graph != nullptr && call.exec != nullptr) names.Name(call.graph, call.exec);
}

// The program cannot change or destroy the graph meanwhile: its call has not returned, and a graph
// may be used by one thread at a time.
void GraphNames::Name(CUgraph graph, CUgraphExec exec) noexcept {
  const std::uint64_t start = MonotonicNs();
  std::uint32_t id = 0;
  if (api_->GetGraphExecId(exec, &id) == CUPTI_SUCCESS && id != 0) {
    GraphSummary summary;
    GraphReader reader(driver_);
    char name[kGraphNameBytes];
    if (const GraphProblem problem = reader.Read(graph, summary)) {
      table_.PutProblem(id, problem);
    } else {
      table_.Put(id, name, WriteGraphName(summary, name));
    }
  }
  AddTo(files_->ring().header.cost_program_ns, MonotonicNs() - start);
}

std::uint32_t GraphNames::Write(std::uint32_t graph_id, char (&name)[kGraphNameBytes]) noexcept {
  const GraphNameTable::Found found = table_.Find(graph_id);
  if (found.name != nullptr) {
    ::memcpy(name, found.name, found.length);
    return found.length;
  }
  if (!said_why_) {
    said_why_ = true;
    char why[160];
    char remark[sizeof(shm::RingHeader::reason)];
    ::snprintf(remark, sizeof(remark), "graphs are named by number: %s",
               WhyUnnamed(problem_ ? problem_ : found.problem, why));
    files_->Remark(remark);
  }
  return WriteGraphNumber(graph_id, files_->ring().header.pid, tag_, name);
}

}  // namespace stemtap::inject
