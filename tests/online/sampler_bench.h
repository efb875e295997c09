// SPDX-License-Identifier: Apache-2.0
//
// SamplerBench has a gate, a sampler and a stream of launches. Each launch is observed `lag`
// launches after it asks the gate. Captured launches take `slow_down` times as long. If this is 1,
// captures are only recorded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "online/online_sampler.h"
#include "shm/gate_client.h"
#include "shm/launch_draw.h"

namespace stemtap::online {

struct ExploredNames {
  bool MayExplore(const std::string& name) const { return !names.contains(name); }
  bool Captured(const std::string& name, shm::GateAnswer) { return names.insert(name).second; }
  std::set<std::string> names;
};

struct SamplerBench {
  explicit SamplerBench(sampling::SamplingOptions options = {}, std::size_t feedback_lag = 500,
                        std::uint64_t slow_down = 1)
      : sampler(options, *gate, 0, slow_down != 1), lag(feedback_lag), slow(slow_down) {}

  void Launch(const std::string& name, std::uint64_t duration, std::uint32_t grid = 1,
              std::uint64_t start = 0) {
    Observation o;
    o.record.name_id = sampler.AddKernel(name);
    o.record.start_ns = start;
    o.record.duration_ns = duration;
    o.record.grid[0] = grid;
    o.index = launched++;
    const std::uint64_t hash = sampler.names().hash(o.record.name_id);
    const shm::LaunchKeys keys(hash, shm::ConfigKey(hash, {{grid, 1, 1}, {1, 1, 1}}), history);
    o.config_key = keys.config;
    o.history_key = keys.history;
    history = shm::Advance(history, hash);
    const shm::GateAnswer answer =
        client.Decide(*gate, keys, name, [&] { return draws(o.index); });
    if (answer.captures()) client.Captured(name, answer);
    o.record.flags = answer.flags;
    o.record.credit_slot = answer.credit_slot;
    captured += o.record.flags != 0;
    native.push_back(duration);
    if (slow != 1 && o.record.flags != 0) {
      o.record.flags |= shm::kFlagPerturbed;
      o.record.duration_ns *= slow;
    }
    pending.push_back(o);
    if (pending.size() >= lag + kEpoch) Epoch(kEpoch);
  }
  void Epoch(std::size_t count) {
    sampler.Begin(std::span<const Observation>(pending).first(count));
    for (std::size_t i = sampler.touched(); i-- > 0;) sampler.UpdateKernel(i);
    sampler.Commit();
    events.insert(events.end(), sampler.events().begin(), sampler.events().end());
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(count));
  }
  model::Plan Finish() {
    while (!pending.empty()) Epoch(std::min(kEpoch, pending.size()));
    model::Plan plan = sampler.Finish();
    events.insert(events.end(), sampler.events().begin(), sampler.events().end());
    return plan;
  }
  std::size_t CountEvents(MaskEventKind kind) const {
    return static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [kind](const MaskEvent& e) { return e.kind == kind; }));
  }

  static constexpr std::size_t kEpoch = 128;
  std::unique_ptr<shm::GateTable> gate = std::make_unique<shm::GateTable>();
  OnlineSampler sampler;
  shm::GateClient<ExploredNames> client;
  shm::LaunchDraws draws{1};
  std::size_t lag;
  std::uint64_t slow;
  std::vector<std::uint64_t> native;  // durations, by launch
  std::uint64_t launched = 0;
  std::uint64_t captured = 0;
  shm::LaunchHistory history = 0;
  std::vector<Observation> pending;
  std::vector<MaskEvent> events;
};

}  // namespace stemtap::online
