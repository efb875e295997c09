// SPDX-License-Identifier: Apache-2.0
//
// RecordingSchedule decides which launches of a live session are observed: those between the start
// and the stop of the recording, which options and requests set.
//
//            Start, or the delay is over              Stop, or the duration is over
//   waiting ────────────────────────────► recording ────────────────────────────────► stopped
//                                             ▲                 Start                    │
//                                             └──────────────────────────────────────────┘
//
// While it does not record, the processes are switched off, so that they cost nothing and their
// launches are unknown; or they go on recording, so that their launches are counted.
//
// UNITS: seconds since the session began. THREADS: one caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "shm/ring.h"

namespace stemtap::session {

// Extent is a part of a run: a time or a number of launches. Nothing if both are 0.
struct Extent {
  double seconds = 0.0;
  std::uint64_t launches = 0;

  bool empty() const { return seconds == 0.0 && launches == 0; }
};

// Parses "30", "30s", "500ms", "5min", "2h" or "20000launches". The error says what was expected.
Result<Extent> ParseExtent(std::string_view text);

struct RecordingOptions {
  bool paused = false;  // begin without recording, until a request or the program starts it
  Extent delay;         // begin to record after it
  Extent duration;      // record for as long, after each start
  bool count_while_off = false;
};

class RecordingSchedule {
 public:
  explicit RecordingSchedule(const RecordingOptions& options);

  // What the traced processes are to do.
  shm::Recording wanted() const;
  bool is_recording() const { return phase_ == Phase::kRecording; }

  // Returns whether the next launch is observed. Call for each launch, in order.
  bool Observes() {
    if (phase_ == Phase::kRecording && left_ == 0) return true;
    return ObservesAtLimit();
  }

  // Have no effect if recording is on, or off, already.
  void Start();
  void Stop();
  // Ends a delay or a duration in seconds. Call often.
  void Update(double now_s);

 private:
  enum class Phase : std::uint8_t { kWaiting, kRecording, kStopped };

  bool ObservesAtLimit();

  RecordingOptions options_;
  Phase phase_ = Phase::kWaiting;
  double now_s_ = 0.0;        // of the last Update
  double until_s_ = 0.0;      // end of the delay or the duration; 0: none in seconds
  std::uint64_t left_ = 0;    // launches of the delay or the duration; 0: none in launches
  bool is_complete_ = false;  // stopped by a number of launches: further ones are not observed
};

}  // namespace stemtap::session
