// SPDX-License-Identifier: Apache-2.0
//
// Writes the samples on the timeline of their run as Chrome JSON trace events, which
// ui.perfetto.dev and chrome://tracing open. See docs/formats/perfetto.md.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "formats/exporters/consumers.h"
#include "model/json_text.h"

namespace stemtap::formats {
namespace {

std::string Quoted(const std::string& text) {
  std::string json;
  model::AppendJsonString(text, json);
  return json;
}

// Formats whole ns as microseconds, exactly.
std::string Microseconds(std::uint64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string Number(double value) {
  return nlohmann::json(value).dump();
}

// A stream of a device. Its tracks are numbered from 1: samples, then all launches.
using Stream = std::pair<std::uint16_t, std::uint32_t>;

class Timeline {
 public:
  explicit Timeline(const ExportInput& input) : input_(input) {}

  Result<Exported> Write() {
    // The number of launches must be known before the first slice is written, because a partial
    // timeline would look complete.
    const model::PlanTotals& totals = input_.counted.plan->totals;
    const std::uint64_t launches = totals.numbered();
    all_ = launches <= input_.options.timeline_launches;
    std::uint64_t samples_without_time = 0;
    for (const CountedSample& s : input_.counted.samples) {
      samples_without_time += s.start_ns == shm::kUnknownTime ? 1 : 0;
      first_ns_ = std::min(first_ns_, s.start_ns);
    }
    if (first_ns_ == shm::kUnknownTime && samples_without_time != 0) {
      return Error{fmt::format(
          "{}: launch {} has no start time, like all samples; expected one for a timeline",
          input_.profile_name, input_.counted.samples[0].sample->index)};
    }
    STEMTAP_TRY(ReadLaunches());
    Exported exported;
    exported.ids = input_.counted.samples.size();
    exported.runs = 0;
    if (!all_) {
      exported.notes.push_back(fmt::format(
          "shows only the samples: the run has {} launches, more than --timeline-launches {}",
          launches, input_.options.timeline_launches));
    }
    if (without_time_ != 0) {
      exported.notes.push_back(fmt::format("{} no start time; not shown",
                                           Plural(without_time_, "launch has", "launches have")));
    }
    if (samples_without_time != 0) {
      exported.notes.push_back(
          fmt::format("{} no start time; not shown",
                      Plural(samples_without_time, "sample has", "samples have")));
    }
    exported.files.push_back({"", Text()});
    return exported;
  }

 private:
  // Reads every launch to show, and the stream of each sample, which the plan does not contain.
  Status ReadLaunches() {
    std::uint64_t index = 0;
    std::size_t next = 0;
    const std::vector<CountedSample>& samples = input_.counted.samples;
    STEMTAP_TRY(model::ForEachLaunch(*input_.profile, [&](const shm::KernelRecord& r) {
      const Stream stream = {r.device, r.stream};
      for (; next < samples.size() && samples[next].sample->index == index; ++next) {
        streams_[stream] = 0;
        sample_streams_.push_back(stream);
      }
      ++index;
      if (!all_ || (input_.options.counting.device && r.device != input_.options.counting.device)) {
        return;
      }
      if (r.start_ns == shm::kUnknownTime) {
        ++without_time_;
        return;
      }
      first_ns_ = std::min(first_ns_, r.start_ns);
      streams_[stream] = 0;
      launches_.push_back({index - 1, r.start_ns, r.duration_ns, stream, r.name_id});
    }));
    const model::NameTable& names = input_.profile->names();
    for (std::uint32_t i = 0; i < names.size(); ++i) names_.push_back(Quoted(names.name(i)));
    return Success{};
  }

  void Add(const std::string& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event;
  }

  void AddTrack(std::uint16_t device, std::uint32_t track, const std::string& name) {
    Add(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                    device, track, Quoted(name)));
    Add(fmt::format(
        R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
        device, track, track));
  }

  std::string Text() {
    std::uint32_t track = 1;
    std::uint16_t last = shm::kUnknown16;
    bool any = false;
    for (auto& [stream, tid] : streams_) {
      const auto& [device, number] = stream;
      if (!any || device != last) {
        Add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})",
                        device, Quoted("device " + DeviceName(device))));
      }
      any = true;
      last = device;
      tid = track;
      const std::string name =
          number == shm::kUnknown32 ? "stream unknown" : fmt::format("stream {}", number);
      AddTrack(device, track, name + ", samples");
      if (all_) AddTrack(device, track + 1, name + ", every launch");
      track += 2;
    }
    for (std::size_t i = 0; i < input_.counted.samples.size(); ++i) {
      const CountedSample& s = input_.counted.samples[i];
      if (s.start_ns == shm::kUnknownTime) continue;
      const model::PlanCluster& c = *s.cluster;
      Add(fmt::format(
          R"({{"ph":"X","cat":"sample","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{)"
          R"("index":{},"occurrence":{},"weight":{},"cluster":{},"cluster_launches":{},)"
          R"("cluster_samples":{},"cluster_mean_ns":{}}}}})",
          Quoted(s.planned_name()), sample_streams_[i].first, streams_[sample_streams_[i]],
          Microseconds(s.start_ns - first_ns_), Microseconds(s.sample->record.duration_ns),
          s.sample->index, s.sample->occurrence, Number(s.sample->weight), s.cluster_number,
          c.count, c.samples.size(), Number(c.mean_ns)));
    }
    for (const Launch& l : launches_) {
      Add(fmt::format(
          R"({{"ph":"X","cat":"launch","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"index":{}}}}})",
          names_[l.name], l.stream.first, streams_[l.stream] + 1,
          Microseconds(l.start_ns - first_ns_), Microseconds(l.duration_ns), l.index));
    }
    return "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"source\":" +
           Quoted(input_.counted.plan->source) + "},\"traceEvents\":[\n" + text_ + "\n]}\n";
  }

  struct Launch {
    std::uint64_t index;
    std::uint64_t start_ns;
    std::uint64_t duration_ns;
    Stream stream;
    std::uint32_t name;
  };

  const ExportInput& input_;
  bool all_ = false;
  std::uint64_t first_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t without_time_ = 0;
  std::map<Stream, std::uint32_t> streams_;  // the first of its two tracks
  std::vector<Stream> sample_streams_;       // by sample
  std::vector<Launch> launches_;
  std::vector<std::string> names_;  // quoted, by name id
  std::string text_;
};

}  // namespace

Result<Exported> WritePerfetto(const ExportInput& input) {
  if (input.profile == nullptr) {
    return Error{
        "perfetto: a timeline needs the run that the plan was made from; expected --profile", 2};
  }
  return Timeline(input).Write();
}

}  // namespace stemtap::formats
