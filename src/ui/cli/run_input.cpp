// SPDX-License-Identifier: Apache-2.0
#include "ui/cli/run_input.h"

#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/byte_source.h"
#include "base/file.h"
#include "model/plan_reader.h"

namespace stemtap::ui {

namespace fs = std::filesystem;

Result<RunInput> KindOfInput(const std::string& path) {
  std::error_code ignored;
  if (path == "-") return RunInput::kProfile;
  if (fs::is_directory(path, ignored)) return RunInput::kSession;
  // A stream can be read only once, by the reader of profiles.
  if (Exists(path) && !fs::is_regular_file(path, ignored)) return RunInput::kProfile;
  std::unique_ptr<ByteSource> source = STEMTAP_TRY(OpenByteSource(path));
  const std::string_view leading = STEMTAP_TRY(source->Peek(model::kPlanSchemaWithin));
  return model::LooksLikePlan(leading) ? RunInput::kPlan : RunInput::kProfile;
}

}  // namespace stemtap::ui
