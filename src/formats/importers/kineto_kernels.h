// SPDX-License-Identifier: Apache-2.0
//
// KernelEvents reads the events of a Chrome trace that are kernels. See docs/formats/kineto.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/decimal.h"
#include "formats/importers/device_tracks.h"
#include "formats/importers/json_stream.h"
#include "formats/importers/recorded_launches.h"
#include "formats/tally.h"

namespace stemtap::formats {

class KernelEvents {
 public:
  // Fields other than name and times.
  enum class Cell : std::uint8_t {
    kDevice,
    kStream,
    kCorrelation,
    kShared,
    kGraph,
    kGraphNode,
    kGrid,
    kBlock
  };
  static constexpr std::size_t kCellCount = 8;

  // Adds the kernel in `text`, a valid JSON object at byte `offset`, to `launches`, or counts why
  // it is rejected. `track` is the track of an event if only the track identifies its stream, or
  // null. Unless it has only kernels, the event is also checked for being one.
  void Read(std::string_view text, std::uint64_t offset, const GpuTrack* track,
            RecordedLaunches& launches);
  // The same for a kernel whose place and name `device` contains.
  void ReadDevice(std::string_view text, std::uint64_t offset, const DeviceEvent& device,
                  RecordedLaunches& launches);

  const Tally& rejected() const { return rejected_; }
  std::uint64_t graphs() const { return graphs_; }  // graphs recorded as a whole
  // Copies of the category of kernels.
  std::uint64_t copies() const { return copies_; }

  // Adds warnings about the fields of accepted events.
  void WarnOfFields(const std::string& source, RecordedLaunches& launches) const;

 private:
  // What the details of an event describe: a kernel, or a copy, an allocation, ...
  enum class Details : std::uint8_t { kNone, kOfKernel, kOfOther };

  struct Event {
    std::string_view phase;
    std::string_view name;
    std::string_view process;  // "pid", a number or a text
    std::optional<std::string_view> start;
    std::optional<std::string_view> duration;
    Details details = Details::kNone;
    bool is_paddle = false;  // a key of its arguments is specific to PaddlePaddle
    shm::KernelRecord record;
  };

  // Returns why the event is malformed, or "".
  std::string_view Parse(std::string_view text, std::uint64_t offset, Event& event);
  std::string_view SetTimes(std::uint64_t offset, Event& event);
  void ReadArgs(simdjson::ondemand::value value, std::uint64_t offset, Event& event);
  void ReadOnnxArg(std::string_view key, simdjson::ondemand::value value, std::uint64_t offset,
                   Event& event);
  std::uint64_t ProcessOf(const Event& event);
  std::uint64_t NumberOf(std::string_view process, std::uint16_t device);
  std::optional<JsonDecimal> ReadTime(std::string_view text, std::uint64_t offset);

  simdjson::ondemand::parser parser_;
  std::map<std::string, std::uint64_t, std::less<>> processes_;  // numbers from 1
  std::optional<std::uint64_t> process_;                         // of the last kernel
  // Of the last kernel with a device: kernels repeat both.
  struct Last {
    std::uint16_t device = shm::kUnknown16;
    std::string pid;
    std::uint64_t number = 0;  // of this process
  };
  Last last_;
  Tally rejected_;
  std::uint64_t graphs_ = 0;
  std::uint64_t copies_ = 0;
  Tally rounded_;
  Tally no_time_;
  Tally bad_details_;
  std::array<Tally, kCellCount> bad_cells_;
};

}  // namespace stemtap::formats
