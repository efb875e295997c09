// SPDX-License-Identifier: Apache-2.0
//
// Makes one session of the runs of a job: for stemtap merge --fleet, and at the end of the run that
// has started the server of the job (--fleet auto).
#pragma once

#include <string>

#include "base/result.h"
#include "fleet/private_server.h"
#include "fleet/redis.h"
#include "session/merge/merge_sessions.h"
#include "session/session_directory.h"

namespace stemtap::ui {

// Merges the sessions of the runs that have ended into `output`, with the plan of all their
// launches. The warnings name the other runs.
Result<session::MergeOutcome> MergeJob(fleet::RedisUrl server, const std::string& job,
                                       const std::string& output, session::SessionPlace place);

// Waits until all other runs of the job have ended or are silent, or until Ctrl-C. Then merges the
// job into a directory in `folder`, the session of this run, and prints what is in it.
// REQUIRES: this run has left the job.
Status EndJob(const fleet::PrivateServer& server, const std::string& job, const std::string& folder,
              bool quiet);

}  // namespace stemtap::ui
