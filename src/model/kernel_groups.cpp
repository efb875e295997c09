// SPDX-License-Identifier: Apache-2.0
#include "model/kernel_groups.h"

#include <utility>

#include "model/kernel_name.h"
#include "model/name_pattern.h"
#include "shm/launch_keys.h"

namespace stemtap::model {

GroupBy GroupByOf(std::string_view name) {
  for (const GroupBySpec& spec : kGroupings) {
    if (name == spec.name) return spec.by;
  }
  return GroupBy::kName;
}

KernelGroups::KernelGroups(GroupBy by, std::unique_ptr<re2::RE2> exclude)
    : by_(by), exclude_(std::move(exclude)) {}
KernelGroups::KernelGroups(KernelGroups&&) noexcept = default;
KernelGroups& KernelGroups::operator=(KernelGroups&&) noexcept = default;
KernelGroups::~KernelGroups() = default;

Result<KernelGroups> KernelGroups::Create(GroupBy by, const std::string& exclude) {
  if (exclude.empty()) return KernelGroups(by, nullptr);
  Result<std::unique_ptr<re2::RE2>> pattern = CompilePattern(exclude);
  if (!pattern.ok()) {
    return Error{"--exclude " + pattern.error().message, pattern.error().exit_code};
  }
  return KernelGroups(by, std::move(pattern).value());
}

void KernelGroups::Learn(const NameTable& names) {
  for (auto id = static_cast<std::uint32_t>(by_name_.size()); id < names.size(); ++id) {
    const bool out = exclude_ && re2::RE2::PartialMatch(names.name(id), *exclude_);
    by_name_.push_back(out ? kExcludedKernel : kUnseen);
  }
}

void OccurrenceCounter::Learn(const NameTable& names) {
  for (auto id = static_cast<std::uint32_t>(counters_.size()); id < names.size(); ++id) {
    const std::string& name = names.name(id);
    counters_.push_back(
        counted_.Intern(by_function_ ? FunctionName(name) : name, names.process(id)));
  }
  counts_.resize(counted_.size(), 0);
}

std::uint32_t KernelGroups::Find(const shm::KernelRecord& record, const NameTable& names) {
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const std::string& name = names.name(record.name_id);
  const std::int32_t process = names.process(record.name_id);
  const std::string range(names.range(record.name_id));
  if (by_ == GroupBy::kName) {
    groups_.push_back({name, process, {}, range});
    return by_name_[record.name_id] = next;
  }
  if (by_ == GroupBy::kFunction) {
    const auto [at, added] =
        by_function_.emplace(Function(FunctionName(name), process, range), next);
    if (added) groups_.push_back({std::get<0>(at->first), process, {}, range});
    return by_name_[record.name_id] = at->second;
  }
  shm::LaunchConfig config = shm::ConfigOf(record);
  const std::uint64_t hash = names.hash(record.name_id);
  // Further configurations count as unknown.
  if (next >= kMaxConfigs && !by_launch_.contains(shm::ConfigKey(hash, config))) config = {};
  const auto [at, added] = by_launch_.emplace(shm::ConfigKey(hash, config), next);
  if (added) groups_.push_back({name, process, config, range});
  return at->second;
}

}  // namespace stemtap::model
