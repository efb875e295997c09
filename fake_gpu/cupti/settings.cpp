// SPDX-License-Identifier: Apache-2.0
#include "cupti/settings.h"

#include <cupti.h>

#include "env.h"

namespace fake_cupti {

const Settings& settings() {
  // Leaked: calls may come after the process's destructors.
  static const Settings& read = *new Settings{
      .version =
          static_cast<std::uint32_t>(fake_env::Number("FAKE_CUPTI_VERSION", CUPTI_API_VERSION)),
      .occupied_by = fake_env::Text("FAKE_CUPTI_OCCUPIED"),
      .zero_every = fake_env::Number("FAKE_CUPTI_ZERO_TIMESTAMPS", 0),
      .drop_every = fake_env::Number("FAKE_CUPTI_DROP", 0),
      .ticks = fake_env::Real("FAKE_CUPTI_TICKS", 1),
      .late = fake_env::Number("FAKE_CUPTI_LATE", 0) != 0,
      .overhead_ns = fake_env::Number("FAKE_CUPTI_OVERHEAD_NS", 0),
      .instrumentation_ns = fake_env::Number("FAKE_CUPTI_INSTRUMENTATION_NS", 0),
      .guard = fake_env::Number("FAKE_CUPTI_GUARD", 0) != 0,
      .deadlock_ms = fake_env::Number("FAKE_CUPTI_DEADLOCK_MS", 30'000),
      .callback_us = fake_env::Number("FAKE_CUPTI_CALLBACK_US", 0),
      .graph_leak_bytes = fake_env::Number("FAKE_CUPTI_GRAPH_LEAK", 0),
      .fork_hangs = fake_env::Text("FAKE_CUPTI_FORK", "abort") == "hang",
      .max_pending = fake_env::Number("FAKE_CUPTI_MAX_PENDING", 1),
  };
  return read;
}

}  // namespace fake_cupti
