// SPDX-License-Identifier: Apache-2.0
#include "model/launch_selection.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace stemtap::model {
namespace {

// Names of the options in a plan, and the value of the first.
constexpr const char* kRangesOption = "ranges";
constexpr const char* kWholePaths = "whole";
constexpr const char* kOnlyRangeOption = "only_range";
constexpr const char* kSkipStepsOption = "skip_steps";
constexpr const char* kStepsOption = "steps";

shm::Text TextOf(std::string_view text) {
  return {text.data(), static_cast<std::uint32_t>(text.size())};
}

class SelectedLaunches : public ProfileReader {
 public:
  SelectedLaunches(std::unique_ptr<ProfileReader> reader, const LaunchSelection& selection)
      : reader_(std::move(reader)), selection_(selection) {
    metric_names_ = reader_->metric_names();
    marks_ = {reader_->marks().ranges && selection.has_ranges(), reader_->marks().steps};
  }

 private:
  struct Name {
    std::uint32_t id = 0;  // in names_
    bool is_selected = true;
  };

  Result<std::size_t> ReadSome(ProfileBatch& batch, std::size_t limit) override {
    const std::size_t read = STEMTAP_TRY(reader_->Read(batch, limit));
    const NameTable& names = reader_->names();
    for (auto id = static_cast<std::uint32_t>(by_id_.size()); id < names.size(); ++id) {
      const CountedRange counted = CountedRangeOf(selection_, names.range(id));
      by_id_.push_back(
          {names_.Intern(names.name(id), names.process(id), counted.range), counted.is_selected});
      is_identity_ = is_identity_ && by_id_.back().id == id && counted.is_selected;
    }
    if (is_identity_ && batch.steps.empty() && selection_.steps.all()) return Done(read);
    for (std::size_t i = 0; i < read; ++i) {
      shm::KernelRecord& record = batch.records[i];
      const Name& name = by_id_[record.name_id];
      const std::uint64_t step = i < batch.steps.size() ? batch.steps[i] : shm::kNoStep;
      if (!name.is_selected || !selection_.steps.Contains(step)) record.flags |= shm::kFlagOutside;
      record.name_id = name.id;
    }
    return Done(read);
  }

  std::size_t Done(std::size_t read) {
    warnings_ = reader_->warnings();
    return read;
  }

  bool Restart() override { return reader_->Rewind(); }

  std::unique_ptr<ProfileReader> reader_;
  LaunchSelection selection_;
  std::vector<Name> by_id_;  // by name id of reader_
  bool is_identity_ = true;  // all names keep their ids, and are selected
};

}  // namespace

CountedRange CountedRangeOf(const LaunchSelection& selection, std::string_view path) {
  if (selection.only_range.empty()) {
    const bool is_shown = selection.by_range || selection.by_operator;
    return {is_shown ? path : std::string_view(), true};
  }
  const shm::Text found = shm::InnermostOf(TextOf(path), TextOf(selection.only_range));
  if (found.bytes == 0) return {{}, false};
  return {selection.by_range ? path : std::string_view(found.at, found.bytes), true};
}

LaunchSelection SelectionOf(const OptionList& options) {
  const auto number = [&](std::string_view name) {
    const double value = OptionNumber(options, name);
    return value >= 0.0 ? static_cast<std::uint64_t>(value) : std::uint64_t{0};
  };
  LaunchSelection selection;
  selection.by_range = OptionText(options, kRangesOption) == kWholePaths;
  selection.only_range = OptionText(options, kOnlyRangeOption);
  selection.steps = {number(kSkipStepsOption), number(kStepsOption)};
  return selection;
}

void AppendOptions(const LaunchSelection& selection, OptionList& options) {
  if (selection.by_range) options.emplace_back(kRangesOption, kWholePaths);
  if (!selection.only_range.empty()) {
    options.emplace_back(kOnlyRangeOption, selection.only_range);
  }
  if (selection.steps.first != 0) options.emplace_back(kSkipStepsOption, selection.steps.first);
  if (selection.steps.count != 0) options.emplace_back(kStepsOption, selection.steps.count);
}

std::unique_ptr<ProfileReader> SelectLaunches(std::unique_ptr<ProfileReader> reader,
                                              const LaunchSelection& selection) {
  return std::make_unique<SelectedLaunches>(std::move(reader), selection);
}

}  // namespace stemtap::model
