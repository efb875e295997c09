// SPDX-License-Identifier: Apache-2.0
//
// StreamNumbers turns the ids of streams or queues in a file into the stream numbers of launches.
// An id below 2^31 is its own number. If a file has any other id (an address, a negative number, a
// hexadecimal number, a name), all of its streams are numbered 0, 1, ... in order of appearance.
// Every stream gets a number, and no two streams share one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/importers/recorded_launches.h"

namespace stemtap::formats {

class StreamNumbers {
 public:
  // Returns the number for a launch on stream `id`. It is final after Finish.
  std::uint32_t Of(std::string_view id);
  std::uint32_t Of(std::int64_t id) {
    return id >= 0 && id < kFirstProvisional ? static_cast<std::uint32_t>(id)
                                             : Provisional(std::to_string(id));
  }

  // Renumbers the streams of `launches`, with a warning, if an id is not its own number. REQUIRES:
  // the streams of `launches` are numbers from Of, or below 2^31; `launches` is not finished.
  void Finish(std::string_view source, RecordedLaunches& launches) const;

 private:
  // Numbers from here on stand for other ids until Finish. Ids above it that would fit a stream
  // number are treated like addresses.
  static constexpr std::int64_t kFirstProvisional = std::int64_t{1} << 31;

  std::uint32_t Provisional(std::string_view id);

  std::unordered_map<std::string, std::uint32_t> provisional_;  // by id
  std::string first_;                                           // of these ids
  std::string last_;                                            // id of the last call, and its
  std::uint32_t last_number_ = 0;                               // number: streams repeat
};

}  // namespace stemtap::formats
