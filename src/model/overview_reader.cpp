// SPDX-License-Identifier: Apache-2.0
#include "model/overview_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/json_text.h"
#include "model/overview_check.h"

namespace stemtap::model {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;
using simdjson::SUCCESS;

// Room for half a million kernels of about 2 KB.
constexpr std::size_t kMostOverviewBytes = std::size_t{1} << 30;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMostPid = std::numeric_limits<std::int32_t>::max();

// Walk parses the document in one pass. Every function returns whether it succeeded. The first
// failure sets `expected` and `code`, and each enclosing level adds its name to the front of
// `where`.
class Walk {
 public:
  Walk(bool slices, Overview& overview) : slices_(slices), overview_(overview) {}

  bool Document(ondemand::document& document);

  // Describe the failure. `expected` is empty if the text is not valid JSON.
  std::string where;
  std::string expected;
  error_code code = SUCCESS;

 private:
  bool Fail(error_code error, const char* what) {
    code = error;
    // Other codes are JSON syntax errors, which any access can report.
    const bool other = error == simdjson::INCORRECT_TYPE || error == SUCCESS ||
                       error == simdjson::NUMBER_OUT_OF_RANGE || error == simdjson::NUMBER_ERROR;
    expected = other ? what : "";
    return false;
  }
  bool Inside(std::string_view name) {
    where = fmt::format("{}{}{}", name, where.empty() || where[0] == '[' ? "" : ".", where);
    return false;
  }

  // Calls each(key, value) for every field.
  template <typename Value, typename Each>
  bool Fields(Value& value, Each each) {
    ondemand::object object;
    error_code error = value.get_object().get(object);
    if (error != SUCCESS) return Fail(error, "an object");
    const std::size_t first = keys_.size();
    for (auto field : object) {
      std::string_view key;
      ondemand::value inner;
      error = field.unescaped_key().get(key);
      if (error == SUCCESS) error = field.value().get(inner);
      if (error != SUCCESS) return Fail(error, "a field");
      if (std::find(keys_.begin() + static_cast<std::ptrdiff_t>(first), keys_.end(), key) !=
          keys_.end()) {
        Fail(SUCCESS, "the field once");
        return Inside(ShownCell(key));
      }
      if (keys_.size() - first == kMostFields) return Fail(SUCCESS, "at most 256 fields");
      keys_.push_back(key);
      if (!each(key, inner)) return Inside(ShownCell(key));
    }
    keys_.resize(first);
    return true;
  }
  // Calls each(index, value) for every element.
  template <typename Each>
  bool Items(ondemand::value& value, Each each) {
    ondemand::array array;
    error_code error = value.get_array().get(array);
    if (error != SUCCESS) return Fail(error, "an array");
    std::size_t index = 0;
    for (auto item : array) {
      ondemand::value inner;
      error = item.get(inner);
      if (error != SUCCESS) return Fail(error, "a value");
      if (!each(index, inner)) return Inside(fmt::format("[{}]", index));
      ++index;
    }
    return true;
  }
  // Calls each(index, value) for the first `count` elements, which must exist. Ignores the others.
  template <typename Each>
  bool Row(ondemand::value& value, std::size_t count, const char* what, Each each) {
    std::size_t there = 0;
    if (!Items(value, [&](std::size_t i, ondemand::value& inner) {
          ++there;
          return i >= count || each(i, inner);
        })) {
      return false;
    }
    return there >= count || Fail(SUCCESS, what);
  }

  template <typename Number>
  bool Whole(ondemand::value& value, Number& to,
             std::uint64_t most = std::numeric_limits<Number>::max()) {
    std::uint64_t number = 0;
    const error_code error = value.get_uint64().get(number);
    if (error != SUCCESS || number > most) return Fail(error, "a whole number");
    to = static_cast<Number>(number);
    return true;
  }
  // Sets `to` to NaN if the value is null.
  bool Real(ondemand::value& value, double& to) {
    if (IsNull(value)) {
      to = kNone;
      return true;
    }
    const error_code error = value.get_double().get(to);
    return error == SUCCESS || Fail(error, "a number");
  }
  // Like Real, but null is an error.
  bool Number(ondemand::value& value, double& to) {
    return Real(value, to) && (!std::isnan(to) || Fail(SUCCESS, "a number"));
  }
  bool Text(ondemand::value& value, std::string& to) {
    std::string_view text;
    const error_code error = value.get_string().get(text);
    if (error != SUCCESS) return Fail(error, "a text");
    to.assign(text);
    return true;
  }
  static bool IsNull(ondemand::value& value) {
    bool null = false;
    return value.is_null().get(null) == SUCCESS && null;
  }
  template <typename T>
  bool Extents(ondemand::value& value, T (&extents)[3]) {
    if (IsNull(value)) return true;
    return Row(value, 3, "three whole numbers",
               [&](std::size_t i, ondemand::value& v) { return Whole(v, extents[i]); });
  }

  bool Top(std::string_view key, ondemand::value& value);
  bool Totals(std::string_view key, ondemand::value& value);
  bool Process(ondemand::value& value, OverviewProcess& process);
  bool Point(ondemand::value& value, TimelinePoint& point);
  bool Kernel(ondemand::value& value, OverviewKernel& kernel);
  bool Cluster(ondemand::value& value, OverviewCluster& cluster);

  // Maximum fields per object. Our objects have up to 40. The duplicate check compares each key
  // with all previous ones, so its time is quadratic.
  static constexpr std::size_t kMostFields = 256;

  const bool slices_;
  Overview& overview_;
  std::vector<std::string_view> keys_;  // keys of all open objects, in the memory of the parser
  bool state_ = false;
  bool kernels_ = false;
};

bool Walk::Cluster(ondemand::value& value, OverviewCluster& cluster) {
  return Fields(value, [&](std::string_view key, ondemand::value& v) {
    if (key == "lower_ns") return Whole(v, cluster.lower_ns);
    if (key == "upper_ns") return Whole(v, cluster.upper_ns);
    if (key == "count") return Whole(v, cluster.count);
    if (key == "mean_ns") return Real(v, cluster.mean_ns);
    if (key == "stddev_ns") return Real(v, cluster.stddev_ns);
    if (key == "captured") return Whole(v, cluster.captured);
    if (key == "target") return Whole(v, cluster.target);
    if (key != "state") return true;
    std::string_view state;
    const error_code error = v.get_string().get(state);
    if (error != SUCCESS) return Fail(error, "a text");
    if (state == "closed") {
      cluster.state = ClusterState::kClosed;
    } else if (state == "unreachable") {
      cluster.state = ClusterState::kUnreachable;
    } else if (state != "open") {
      return Fail(SUCCESS, "open, closed or unreachable");
    }
    return true;
  });
}

bool Walk::Kernel(ondemand::value& value, OverviewKernel& kernel) {
  // Reuse the memory of the vectors and the name.
  kernel.process = 0;
  kernel.config = {};
  kernel.invocations = kernel.duration_ns = kernel.captured = kernel.imputed = 0;
  kernel.clusters.clear();
  kernel.histogram.clear();
  kernel.slices.clear();
  bool named = false;
  const bool walked = Fields(value, [&](std::string_view key, ondemand::value& v) {
    if (key == "name") return named = Text(v, kernel.name);
    if (key == "process") return IsNull(v) || Whole(v, kernel.process, kMostPid);
    if (key == "grid") return Extents(v, kernel.config.grid);
    if (key == "block") return Extents(v, kernel.config.block);
    if (key == "invocations") return Whole(v, kernel.invocations);
    if (key == "duration_ns") return Whole(v, kernel.duration_ns);
    if (key == "captured") return Whole(v, kernel.captured);
    if (key == "imputed") return Whole(v, kernel.imputed);
    if (key == "clusters") {
      kernel.clusters.clear();
      return Items(v, [&](std::size_t, ondemand::value& inner) {
        return Cluster(inner, kernel.clusters.emplace_back());
      });
    }
    if (key == "histogram") {
      kernel.histogram.clear();
      return Items(v, [&](std::size_t, ondemand::value& inner) {
        HistogramBin& bin = kernel.histogram.emplace_back();
        return Row(inner, 3, "[lower, upper, launches]", [&](std::size_t i, ondemand::value& n) {
          return Whole(n, i == 0 ? bin.lower_ns : i == 1 ? bin.upper_ns : bin.count);
        });
      });
    }
    if (key == "slices" && slices_) {
      kernel.slices.clear();
      return Items(v, [&](std::size_t, ondemand::value& inner) {
        KernelSlice& slice = kernel.slices.emplace_back();
        return Row(inner, 3, "[slice, launches, time]", [&](std::size_t i, ondemand::value& n) {
          if (i == 0) return Whole(n, slice.slice);
          return Whole(n, i == 1 ? slice.invocations : slice.duration_ns);
        });
      });
    }
    return true;
  });
  return walked && (named || Fail(SUCCESS, "a name"));
}

bool Walk::Process(ondemand::value& value, OverviewProcess& process) {
  return Fields(value, [&](std::string_view key, ondemand::value& v) {
    if (key == "pid") return Whole(v, process.pid, kMostPid);
    if (key == "program") return Text(v, process.program);
    if (key == "state") return Text(v, process.state);
    if (key == "reason") return Text(v, process.reason);
    if (key == "seen") return Whole(v, process.seen);
    if (key == "kept") return Whole(v, process.kept);
    if (key == "dropped") return Whole(v, process.dropped);
    if (key == "captured") return Whole(v, process.captured);
    return true;
  });
}

bool Walk::Point(ondemand::value& value, TimelinePoint& point) {
  return Row(value, 8, "a point of eight numbers", [&](std::size_t i, ondemand::value& v) {
    switch (i) {
      case 0:
        return Number(v, point.elapsed_s);
      case 1:
        return Whole(v, point.observed);
      case 2:
        return Whole(v, point.duration_ns);
      case 3:
        return Whole(v, point.captured);
      case 4:
        return Whole(v, point.captured_duration_ns);
      case 5:
        return Whole(v, point.clusters_open);
      case 6:
        return Real(v, point.bound);
      default:
        return Whole(v, point.dropped);
    }
  });
}

bool Walk::Totals(std::string_view key, ondemand::value& value) {
  Overview& o = overview_;
  const std::pair<const char*, std::uint64_t*> wholes[] = {
      {"seen", &o.seen},
      {"kept", &o.kept},
      {"dropped", &o.dropped},
      {"gaps", &o.gaps},
      {"observed", &o.observed},
      {"duration_ns", &o.duration_ns},
      {"captured", &o.captured},
      {"captured_duration_ns", &o.captured_duration_ns},
      {"kernels_known", &o.kernels_known},
      {"clusters_open", &o.clusters_open},
      {"clusters_closed", &o.clusters_closed},
      {"slowed", &o.slowed},
      {"zero_duration", &o.zero_duration},
      {"excluded", &o.excluded},
      {"excluded_duration_ns", &o.excluded_duration_ns},
      {"started_unix_ms", &o.started_unix_ms},
  };
  for (const auto& [name, to] : wholes) {
    if (key == name) return Whole(value, *to);
  }
  return true;
}

bool Walk::Top(std::string_view key, ondemand::value& value) {
  Overview& o = overview_;
  if (key == "schema") {
    std::string schema;
    if (!Text(value, schema)) return false;
    return schema == "stemtap.overview/1" || Fail(SUCCESS, "\"stemtap.overview/1\"");
  }
  if (key == "state") {
    std::string state;
    if (!Text(value, state)) return false;
    o.ended = state == "ended";
    state_ = true;
    return o.ended || state == "running" || Fail(SUCCESS, "running or ended");
  }
  if (key == "tool") return Text(value, o.tool);
  if (key == "mode") return Text(value, o.mode);
  if (key == "level") return Text(value, o.level);
  if (key == "actuator") return Text(value, o.actuator);
  if (key == "pid") return IsNull(value) || Whole(value, o.pid, kMostPid);
  if (key == "period_ms") return Whole(value, o.period_ms, kMost32);
  if (key == "elapsed_s") return Number(value, o.elapsed_s);
  if (key == "error_bound") return Real(value, o.error_bound);
  if (key == "confidence") return Real(value, o.confidence);
  if (key == "bound") return Real(value, o.bound);
  if (key == "certified_bound") return Real(value, o.certified_bound);
  if (key == "command") {
    o.command.clear();
    return Items(
        value, [&](std::size_t, ondemand::value& v) { return Text(v, o.command.emplace_back()); });
  }
  if (key == "losses") {
    o.losses.clear();
    return Fields(value, [&](std::string_view name, ondemand::value& v) {
      std::uint64_t count = 0;
      if (!Whole(v, count)) return false;
      if (count != 0) o.losses.emplace_back(name, count);
      return true;
    });
  }
  if (key == "processes") {
    o.processes.clear();
    return Items(value, [&](std::size_t, ondemand::value& v) {
      return Process(v, o.processes.emplace_back());
    });
  }
  if (key == "timeline") {
    o.timeline.clear();
    return Items(value, [&](std::size_t, ondemand::value& v) {
      return Point(v, o.timeline.emplace_back());
    });
  }
  if (key == "slices") {
    return Fields(value, [&](std::string_view name, ondemand::value& v) {
      if (name == "start_ns") return Whole(v, o.slices_start_ns);
      if (name == "width_ns") return Whole(v, o.slices_width_ns);
      if (name == "count") return Whole(v, o.slices, kMost32);
      return true;
    });
  }
  if (key == "kernels") {
    kernels_ = true;
    std::size_t count = 0;
    if (!Items(value, [&](std::size_t i, ondemand::value& v) {
          if (i == o.kernels.size()) o.kernels.emplace_back();
          count = i + 1;
          return Kernel(v, o.kernels[i]);
        })) {
      return false;
    }
    o.kernels.resize(count);
    return true;
  }
  return Totals(key, value);
}

bool Walk::Document(ondemand::document& document) {
  // Reset everything except the kernels, whose memory is reused.
  std::vector<OverviewKernel> kernels = std::move(overview_.kernels);
  overview_ = Overview();
  overview_.bound = kNone;
  overview_.kernels = std::move(kernels);
  bool schema = false;
  const bool walked = Fields(document, [&](std::string_view key, ondemand::value& value) {
    schema = schema || key == "schema";
    return Top(key, value);
  });
  if (!walked) return false;
  // A current location exists only if tokens follow the document.
  const char* at = nullptr;
  if (document.current_location().get(at) == SUCCESS) {
    return Fail(simdjson::TRAILING_CONTENT, "the end");
  }
  const char* missing = !schema ? "schema" : !state_ ? "state" : !kernels_ ? "kernels" : nullptr;
  if (missing == nullptr) return true;
  where = missing;
  return Fail(SUCCESS, "the field");
}

// REQUIRES: the capacity of `text` includes the padding that simdjson needs.
Status Parse(ondemand::parser& parser, const std::string& text, std::string_view source,
             bool slices, Overview& overview) {
  ondemand::document document;
  error_code error = parser.iterate(text.data(), text.size(), text.capacity()).get(document);
  std::string where;
  if (error == SUCCESS) {
    Walk walk(slices, overview);
    if (walk.Document(document)) {
      const std::string wrong = CheckOverview(overview);
      return wrong.empty() ? Status(Success{}) : Error{fmt::format("{}: {}", source, wrong)};
    }
    if (!walk.expected.empty()) {
      return Error{fmt::format("{}: {}{}expected {}", source, walk.where,
                               walk.where.empty() ? "" : ": ", walk.expected)};
    }
    error = walk.code;
    const char* at = nullptr;
    if (document.current_location().get(at) == SUCCESS && at >= text.data() &&
        at <= text.data() + text.size()) {
      where = fmt::format("byte {}: ", at - text.data());
    }
  }
  return Error{fmt::format("{}: {}{}, expected an overview.json", source, where,
                           EscapeForTerminal(simdjson::error_message(error)))};
}

void Pad(std::string& text) {
  if (text.capacity() < text.size() + simdjson::SIMDJSON_PADDING) {
    text.reserve(text.size() + text.size() / 8 + simdjson::SIMDJSON_PADDING);
  }
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error SystemError(const std::string& path, const char* deed) {
  return Error{fmt::format("{}: {}: {}", path, deed, std::strerror(errno))};
}

Status ReadFile(const std::string& path, std::string& text) {
  // O_NONBLOCK: do not wait for the writer of a named pipe.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return SystemError(path, "cannot be opened");
  struct stat about = {};
  if (::fstat(file.fd, &about) != 0) return SystemError(path, "cannot be read");
  if (!S_ISREG(about.st_mode)) {
    return Error{fmt::format("{}: is no regular file, expected an overview.json", path)};
  }
  if (static_cast<std::uint64_t>(about.st_size) > kMostOverviewBytes) {
    return Error{
        fmt::format("{}: more than {} bytes, expected an overview.json", path, kMostOverviewBytes)};
  }
  text.resize(static_cast<std::size_t>(about.st_size));
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.fd, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, "cannot be read");
    if (count == 0) break;  // the file was truncated; parsing will probably fail
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return Success{};
}

}  // namespace

struct OverviewReader::Memory {
  ondemand::parser parser;
  std::string text;
};

OverviewReader::OverviewReader(bool slices)
    : memory_(std::make_unique<Memory>()), slices_(slices) {}

OverviewReader::~OverviewReader() = default;

std::string_view OverviewReader::text() const {
  return memory_->text;
}

Status OverviewReader::Read(const std::string& path, Overview& overview) {
  const Status read = ReadFile(path, memory_->text);
  if (!read.ok()) return read.error();
  Pad(memory_->text);
  return Parse(memory_->parser, memory_->text, path, slices_, overview);
}

Result<Overview> ParseOverview(std::string_view json, std::string_view source) {
  std::string text;
  text.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  text.assign(json);
  ondemand::parser parser;
  Overview overview;
  const Status parsed = Parse(parser, text, source, true, overview);
  if (!parsed.ok()) return parsed.error();
  return overview;
}

Result<Overview> LoadOverview(const std::string& path) {
  const Result<std::string> text = ReadJsonFile(path, kMostOverviewBytes, "an overview.json");
  if (!text.ok()) return text.error();
  return ParseOverview(text.value(), NameOfSource(path));
}

}  // namespace stemtap::model
