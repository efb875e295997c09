// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/json_fields.h"
#include "model/json_text.h"
#include "model/json_walk.h"
#include "model/json_writer.h"
#include "model/session.h"

namespace stemtap::model {

// Names in the tables below.
using P = ProcessReport;
using D = DeviceTotals;
using T = StreamTotals;
using B = IdleBin;
using G = IdleGap;
using C = SessionCounters;
using H = SessionHost;
using R = SessionRun;
using O = OriginalSession;
using S = RecordedSession;
using U = UnobservedInterval;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr EnumTexts kLosses = {shm::kLossNames, ""};
constexpr EnumTexts kStates = {kProcessStateNames, "recording, disabled or closed",
                               kFormerStateNames};

template <>
inline constexpr auto kTable<ProcessReport> = std::tuple(
    Nullable<&P::pid>("pid"), Nullable<&P::program>("program"),
    Required<&P::state>("state").OneOf(kStates), Nullable<&P::reason>("reason"),
    Nullable<&P::cupti_version>("cupti_version"), Nullable<&P::driver_version>("driver_version"),
    Nullable<&P::seen>("seen"), Nullable<&P::kept>("kept"), Nullable<&P::read>("read"),
    Nullable<&P::late>("late"), Nullable<&P::malformed>("malformed"),
    Nullable<&P::skipped>("skipped"), Nullable<&P::launches_gated>("launches_gated"),
    Nullable<&P::launches_captured>("launches_captured"),
    Nullable<&P::launches_failed>("launches_failed"),
    Nullable<&P::launches_added>("launches_added"), Nullable<&P::graph_records>("graph_records"),
    Nullable<&P::paused>("paused"), Nullable<&P::buffers>("buffers"),
    Group{"cost", ", ",
          std::tuple(Nullable<&P::cost_program_ns>("program_ns"),
                     Nullable<&P::cost_background_ns>("background_ns"),
                     Nullable<&P::cost_cupti_ns>("cupti_ns"))},
    Nullable<&P::losses>("losses").OneOf(kLosses),
    Nullable<&P::session>("session", kNoSession).OmitIfAbsent(),
    Nullable<&P::combined>("combined").OmitIfAbsent());

template <>
inline constexpr auto kTable<StreamTotals> =
    std::tuple(Nullable<&T::stream>("stream", shm::kUnknown32).NullIfAbsent(),
               Nullable<&T::launches>("launches"), Nullable<&T::duration_ns>("duration_ns"));

template <>
inline constexpr auto kRow<IdleBin> = MakeRow("[lower, gaps, time]", Optional<&B::lower_ns>(),
                                              Optional<&B::gaps>(), Optional<&B::idle_ns>());

template <>
inline constexpr auto kRow<IdleGap> = MakeRow("[start, duration, kernel before, kernel after]",
                                              Optional<&G::start_ns>(), Optional<&G::duration_ns>(),
                                              Nullable<&G::before>("").NullIfAbsent(),
                                              Nullable<&G::after>("").NullIfAbsent())
                                          .Least(2);

template <>
inline constexpr auto kTable<DeviceTotals> = std::tuple(
    Nullable<&D::pid>("pid").NullIfAbsent(),
    Nullable<&D::device>("device", shm::kUnknown16).NullIfAbsent(),
    Nullable<&D::launches>("launches"), Nullable<&D::graph_kernels>("graph_kernels"),
    Nullable<&D::graph_duration_ns>("graph_duration_ns"), Nullable<&D::duration_ns>("duration_ns"),
    Nullable<&D::busy_ns>("busy_ns"), Nullable<&D::cut_ns>("busy_cut_ns"),
    Nullable<&D::span_ns>("span_ns"), Nullable<&D::start_ns>("start_ns", kNoTime).OmitIfAbsent(),
    Nullable<&D::idle>("idle").OmitIfAbsent(),
    Nullable<&D::longest_gaps>("longest_gaps").OmitIfAbsent(), Nullable<&D::streams>("streams"),
    Nullable<&D::session>("session", kNoSession).OmitIfAbsent());

template <>
inline constexpr auto kTable<SessionCounters> = std::tuple(
    Required<&C::seen>("seen"), Required<&C::kept>("kept"), Required<&C::dropped>("dropped"),
    Required<&C::gaps>("gaps"), Nullable<&C::paused>("paused"), Nullable<&C::captured>("captured"),
    Nullable<&C::captured_duration_ns>("captured_duration_ns"),
    Nullable<&C::zero_duration>("zero_duration"), Nullable<&C::slowed>("slowed"),
    Nullable<&C::slowed_beside>("slowed_beside"), Nullable<&C::native_unknown>("native_unknown"),
    Nullable<&C::contexts_refused>("contexts_refused"),
    Nullable<&C::slots_refused>("slots_refused"),
    Nullable<&C::mask_events_missing>("mask_events_missing"),
    Nullable<&C::losses>("losses").OneOf(kLosses));

// A merged session has no common system, machine or number of cores if its hosts differ.
template <>
inline constexpr auto kTable<SessionHost> = std::tuple(
    Nullable<&H::name>("name"), Nullable<&H::system>("system").NullIfAbsent(),
    Nullable<&H::machine>("machine").NullIfAbsent(), Nullable<&H::cores>("cores").NullIfAbsent());

template <>
inline constexpr auto kTable<OriginalSession> = std::tuple(
    Nullable<&O::id>("id"), Nullable<&O::folder>("folder"),
    Nullable<&R::tool>("tool").NullIfAbsent(), Nullable<&R::mode>("mode").NullIfAbsent(),
    Nullable<&R::command>("command"), Nullable<&R::options>("options"), Required<&R::host>("host"),
    Nullable<&R::elapsed_s>("elapsed_s", kNone), Nullable<&R::exit_code>("exit_code"),
    Nullable<&R::signal>("signal"), Required<&R::counters>("counters"));

template <>
inline constexpr auto kTable<UnobservedInterval> =
    std::tuple(Nullable<&U::pid>("pid").NullIfAbsent(), Nullable<&U::begin_ns>("begin_ns"),
               Nullable<&U::end_ns>("end_ns", kNoTime).NullIfAbsent(),
               Nullable<&U::launches>("launches", U::kUncounted).NullIfAbsent());

template <>
inline constexpr auto kTable<RecordedSession> = std::tuple(
    Nullable<&R::tool>("tool"), Nullable<&R::mode>("mode"), Required<&R::command>("command"),
    Required<&R::options>("options"), Required<&R::host>("host"),
    Required<&R::elapsed_s>("elapsed_s"), Required<&R::exit_code>("exit_code"),
    Required<&R::signal>("signal"), Required<&R::counters>("counters"),
    Optional<&S::is_snapshot>("snapshot").OmitIfAbsent(),
    Optional<&S::is_recovered>("recovered").OmitIfAbsent(),
    Optional<&S::window>("window").OmitIfAbsent(),
    Nullable<&S::completeness>("completeness").OmitIfAbsent(), Required<&S::processes>("processes"),
    Required<&S::devices>("devices"), Nullable<&S::unobserved>("unobserved").OmitIfAbsent(),
    Required<&S::warnings>("warnings"), Nullable<&S::sessions>("sessions").OmitIfAbsent());

namespace {

constexpr std::string_view kSchema = "stemtap.session/1";

}  // namespace

std::string SessionToJson(const RecordedSession& session) {
  constexpr JsonStyle kStyle = {.indent = 2};
  std::string text = fmt::format("{{\n  \"schema\": \"{}\",", kSchema);
  JsonWriter(kStyle, text).Fields(session, kTable<RecordedSession>);
  return text += "\n}\n";
}

Result<RecordedSession> ParseSession(std::string_view text, std::string_view source) {
  RecordedSession session;
  STEMTAP_TRY(ReadJson(text, source, kSchema, "a session.json", session));
  const auto wrong = [&](double elapsed_s, const std::string& place) {
    return Error{fmt::format("{}: {}elapsed_s: is {}; expected a number of at least 0", source,
                             place, JsonValue(elapsed_s))};
  };
  if (!(session.elapsed_s >= 0.0)) return wrong(session.elapsed_s, "");
  for (std::size_t i = 0; i < session.sessions.size(); ++i) {
    const double elapsed_s = session.sessions[i].elapsed_s;
    if (elapsed_s < 0.0) return wrong(elapsed_s, fmt::format("sessions[{}].", i));
  }
  return session;
}

Result<RecordedSession> LoadSession(const std::string& path) {
  const std::string text = STEMTAP_TRY(ReadJsonFile(path, kMaxSessionBytes, "a session.json"));
  return ParseSession(text, NameOfSource(path));
}

std::string CompareWithPlan(const RecordedSession& session, const PlanTotals& totals) {
  const std::tuple<const char*, std::uint64_t, std::uint64_t> shared[] = {
      {"kept launches", session.counters.kept, totals.invocations + totals.excluded_invocations},
      {"dropped records", session.counters.dropped, totals.dropped},
      {"gaps", session.counters.gaps, totals.gaps}};
  for (const auto& [name, counted, planned] : shared) {
    if (counted == planned) continue;
    return fmt::format("session.json has {} {} and plan.json has {}", counted, name, planned);
  }
  return {};
}

}  // namespace stemtap::model
