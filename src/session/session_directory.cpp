// SPDX-License-Identifier: Apache-2.0
#include "session/session_directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/text.h"
#include "model/plan_cells.h"
#include "shm/session_env.h"

namespace stemtap::session {

Result<Directory> ClaimSession(const std::string& path, SessionPlace place) {
  std::error_code failure;
  const std::string absolute = std::filesystem::absolute(path, failure).string();
  if (failure) {
    return Error{fmt::format(
        "{}: the current directory cannot be found: {}; expected one that exists, or an absolute path",
        EscapeForTerminal(path), failure.message())};
  }
  if (absolute.size() > shm::kMaxSessionPathBytes) {
    return Error{fmt::format(
        "{:.60}...: the path of the session directory has {} bytes; expected at most {}",
        EscapeForTerminal(path), absolute.size(), shm::kMaxSessionPathBytes)};
  }
  switch (place) {
    case SessionPlace::kDefault:
      return Directory::ClaimNew(path, shm::kMaskFileName);
    case SessionPlace::kExisting:
      return Directory::ClaimExisting(path, shm::kMaskFileName);
    case SessionPlace::kNamed:
      break;
  }
  return Directory::Claim(path, shm::kMaskFileName);
}

void RemoveUnclaimed(const std::string& path, std::uint64_t pid) {
  const Result<Directory> directory = Directory::Open(path);
  if (!directory.ok()) return;
  bool is_claimed = false;
  std::vector<std::string> rings;
  directory.value().ForEach([&](const std::string& name, ino_t) {
    shm::ProcessImage image;
    is_claimed |= name == shm::kMaskFileName;
    if (shm::ParseImageFileName(name.c_str(), shm::kRingPrefix, image) && image.pid == pid) {
      rings.push_back(name);
    }
  });
  if (is_claimed) return;
  for (const std::string& name : rings) directory.value().Remove(name);
  directory.value().RemoveSelf();
}

Status WriteResults(const Directory& directory, const model::Plan& plan,
                    const std::string& session_json, const std::string& summary) {
  Status status = directory.Replace("plan.json", model::PlanToJson(plan));
  if (!status.ok()) return status;
  status = directory.Replace(shm::kSessionFileName, session_json);
  if (!status.ok()) return status;
  // The largest file is written late, because the disk may be full. The summary does not need it.
  const Status cells = directory.Replace(model::kCellsFileName, model::CellsToJson(plan));
  status = directory.Replace("summary.txt", summary);
  return cells.ok() ? status : cells;
}

}  // namespace stemtap::session
