// SPDX-License-Identifier: Apache-2.0
#include "model/plan_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/json_text.h"
#include "model/plan_check.h"

namespace stemtap::model {
namespace {

using nlohmann::json;

// Unexpected is an exception that describes a malformed field. Thrown and caught only in this file.
struct Unexpected {
  std::string what;
};

[[noreturn]] void Fail(const std::string& path, const char* field, const char* expected) {
  throw Unexpected{
      fmt::format("{}{}{}: expected {}", path, path.empty() ? "" : ".", field, expected)};
}

const json* Find(const json& object, const char* field) {
  const auto at = object.find(field);
  return at == object.end() ? nullptr : &*at;
}

std::uint64_t Whole(const json& object, const std::string& path, const char* field,
                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
  const json* value = Find(object, field);
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
    Fail(path, field, "a whole number");
  }
  return value->get<std::uint64_t>();
}

// Returns `absent` if the field is missing or null.
std::uint64_t WholeOr(const json& object, const std::string& path, const char* field,
                      std::uint64_t absent, std::uint64_t most) {
  const json* value = Find(object, field);
  return value == nullptr || value->is_null() ? absent : Whole(object, path, field, most);
}

// Returns NaN if the field is null.
double Real(const json& object, const std::string& path, const char* field) {
  const json* value = Find(object, field);
  if (value != nullptr && value->is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (value == nullptr || !value->is_number()) Fail(path, field, "a number");
  return value->get<double>();
}

// Returns `absent` if the field is missing.
double RealOr(const json& object, const std::string& path, const char* field, double absent) {
  return Find(object, field) == nullptr ? absent : Real(object, path, field);
}

// Returns false if the field is missing.
bool Truth(const json& object, const std::string& path, const char* field) {
  const json* value = Find(object, field);
  if (value != nullptr && !value->is_boolean()) Fail(path, field, "true or false");
  return value != nullptr && value->get<bool>();
}

std::string Text(const json& object, const std::string& path, const char* field) {
  const json* value = Find(object, field);
  if (value == nullptr || !value->is_string()) Fail(path, field, "a text");
  return value->get<std::string>();
}

const json& Object(const json& value, const std::string& path, const char* field) {
  const json* found = Find(value, field);
  if (found == nullptr || !found->is_object()) Fail(path, field, "an object");
  return *found;
}

const json& Array(const json& value, const std::string& path, const char* field) {
  const json* found = Find(value, field);
  if (found == nullptr || !found->is_array()) Fail(path, field, "an array");
  return *found;
}

template <typename T>
void Extents(const json& object, const std::string& path, const char* field, T (&extents)[3]) {
  const json* value = Find(object, field);
  if (value == nullptr || value->is_null()) return;
  if (!value->is_array() || value->size() != 3) Fail(path, field, "three whole numbers");
  for (std::size_t i = 0; i < 3; ++i) {
    const json& extent = (*value)[i];
    if (!extent.is_number_unsigned() ||
        extent.get<std::uint64_t>() > std::numeric_limits<T>::max()) {
      Fail(path, field, "three whole numbers");
    }
    extents[i] = static_cast<T>(extent.get<std::uint64_t>());
  }
}

PlanSample SampleOf(const json& value, const std::string& path) {
  if (!value.is_object()) Fail(path, "", "an object");
  PlanSample sample;
  sample.index = Whole(value, path, "index");
  sample.occurrence = Whole(value, path, "occurrence");
  sample.weight = Real(value, path, "weight");
  shm::KernelRecord& record = sample.record;
  record.duration_ns = Whole(value, path, "duration_ns");
  sample.imputed = Truth(value, path, "imputed");
  record.start_ns = shm::kUnknownTime;
  record.shared_bytes = shm::kUnknown32;
  record.device =
      static_cast<std::uint16_t>(WholeOr(value, path, "device", shm::kUnknown16, shm::kUnknown16));
  record.stream =
      static_cast<std::uint32_t>(WholeOr(value, path, "stream", shm::kUnknown32, shm::kUnknown32));
  Extents(value, path, "grid", record.grid);
  Extents(value, path, "block", record.block);
  return sample;
}

PlanCluster ClusterOf(const json& value, const std::string& path) {
  if (!value.is_object()) Fail(path, "", "an object");
  PlanCluster cluster;
  cluster.lower_ns = Whole(value, path, "lower_ns");
  cluster.upper_ns = Whole(value, path, "upper_ns");
  cluster.count = Whole(value, path, "count");
  cluster.mean_ns = Real(value, path, "mean_ns");
  cluster.stddev_ns = Real(value, path, "stddev_ns");
  cluster.target = Whole(value, path, "target");
  cluster.captured = Whole(value, path, "captured");
  cluster.joined = WholeOr(value, path, "joined", 0, std::numeric_limits<std::uint64_t>::max());
  cluster.joined_bias_ns = RealOr(value, path, "joined_bias_ns", 0.0);
  const json& samples = Array(value, path, "samples");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    cluster.samples.push_back(SampleOf(samples[i], fmt::format("{}.samples[{}]", path, i)));
  }
  return cluster;
}

PlanKernel KernelOf(const json& value, const std::string& path) {
  if (!value.is_object()) Fail(path, "", "an object");
  PlanKernel kernel;
  kernel.name = Text(value, path, "name");
  kernel.invocations = Whole(value, path, "invocations");
  kernel.duration_ns = Whole(value, path, "duration_ns");
  Extents(value, path, "grid", kernel.config.grid);
  Extents(value, path, "block", kernel.config.block);
  kernel.process = static_cast<std::int32_t>(
      WholeOr(value, path, "process", 0, std::numeric_limits<std::int32_t>::max()));
  const json& clusters = Array(value, path, "clusters");
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    kernel.clusters.push_back(ClusterOf(clusters[i], fmt::format("{}.clusters[{}]", path, i)));
  }
  return kernel;
}

PlanSession SessionOf(const json& value, const std::string& path) {
  if (!value.is_object()) Fail(path, "", "an object");
  PlanSession session;
  session.id = Text(value, path, "id");
  session.folder = Text(value, path, "folder");
  session.host = Text(value, path, "host");
  session.source = Text(value, path, "source");
  session.first_index = Whole(value, path, "first_index");
  session.launches = Whole(value, path, "launches");
  for (const json& device : Array(value, path, "devices")) {
    if (!device.is_number_unsigned() || device.get<std::uint64_t>() >= shm::kUnknown16) {
      Fail(path, "devices", "whole numbers");
    }
    session.devices.push_back(static_cast<std::uint16_t>(device.get<std::uint64_t>()));
  }
  session.first_device =
      static_cast<std::uint16_t>(Whole(value, path, "first_device", shm::kUnknown16));
  session.duration_ns = Whole(value, path, "duration_ns");
  session.bound = Real(value, path, "bound");
  session.certified_bound = RealOr(value, path, "certified_bound", session.bound);
  return session;
}

PlanTotals TotalsOf(const json& value) {
  const std::string path = "totals";
  PlanTotals totals;
  totals.invocations = Whole(value, path, "invocations");
  totals.duration_ns = Whole(value, path, "duration_ns");
  totals.kernels = Whole(value, path, "kernels");
  totals.clusters = Whole(value, path, "clusters");
  totals.samples = Whole(value, path, "samples");
  totals.sampled_duration_ns = Whole(value, path, "sampled_duration_ns");
  totals.speedup = Real(value, path, "speedup");
  totals.bound = Real(value, path, "bound");
  totals.observed_error = Real(value, path, "observed_error");
  totals.certified_bound = RealOr(value, path, "certified_bound", totals.bound);
  // In old plans without the field, `bound` is the certified bound, even if the observed error is
  // larger.
  if (Find(value, "certified_bound") == nullptr) StateBound(totals);
  totals.plain_estimate_ns = Real(value, path, "plain_estimate_ns");
  totals.calibrated_estimate_ns = Real(value, path, "calibrated_estimate_ns");
  totals.uncovered_fraction = Real(value, path, "uncovered_fraction");
  totals.joined_fraction = RealOr(value, path, "joined_fraction", 0.0);
  totals.dropped = Whole(value, path, "dropped");
  totals.zero_duration = Whole(value, path, "zero_duration");
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  totals.gaps = WholeOr(value, path, "gaps", 0, most);
  totals.graph_launches = WholeOr(value, path, "graph_launches", 0, most);
  totals.excluded_invocations = WholeOr(value, path, "excluded_invocations", 0, most);
  totals.excluded_duration_ns = WholeOr(value, path, "excluded_duration_ns", 0, most);
  totals.imputed = WholeOr(value, path, "imputed", 0, most);
  totals.imputed_duration_ns = WholeOr(value, path, "imputed_duration_ns", 0, most);
  totals.native_unknown = WholeOr(value, path, "native_unknown", 0, most);
  return totals;
}

OptionList OptionsOf(const json& options) {
  OptionList list;
  for (const auto& [name, value] : options.items()) {
    if (value.is_string()) {
      list.emplace_back(name, value.get<std::string>());
    } else if (value.is_number_unsigned()) {
      list.emplace_back(name, value.get<std::uint64_t>());
    } else if (value.is_number()) {
      list.emplace_back(name, value.get<double>());
    }
  }
  return list;
}

}  // namespace

Result<Plan> ParsePlan(std::string_view text, std::string_view source) {
  const Status sound = CheckJsonText(text, source, "stemtap.plan/1", "a plan.json");
  if (!sound.ok()) return sound.error();
  try {
    const json document = json::parse(text);
    Plan plan;
    plan.source = Text(document, "", "source");
    plan.options = OptionsOf(Object(document, "", "options"));
    if (Find(document, "sessions") != nullptr) {
      const json& sessions = Array(document, "", "sessions");
      for (std::size_t i = 0; i < sessions.size(); ++i) {
        plan.sessions.push_back(SessionOf(sessions[i], fmt::format("sessions[{}]", i)));
      }
    }
    plan.totals = TotalsOf(Object(document, "", "totals"));
    const json& kernels = Array(document, "", "kernels");
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      plan.kernels.push_back(KernelOf(kernels[i], fmt::format("kernels[{}]", i)));
    }
    const std::string wrong = CheckPlan(plan);
    if (!wrong.empty()) return Error{fmt::format("{}: {}", source, wrong)};
    return plan;
  } catch (const Unexpected& unexpected) {
    return Error{fmt::format("{}: {}", source, unexpected.what)};
  } catch (const json::exception& error) {
    return Error{fmt::format("{}: {}, expected a plan.json", source, error.what())};
  }
}

Result<Plan> LoadPlan(const std::string& path) {
  const Result<std::string> text = ReadJsonFile(path, kMaxPlanBytes, "a plan.json");
  if (!text.ok()) return text.error();
  return ParsePlan(text.value(), NameOfSource(path));
}

}  // namespace stemtap::model
