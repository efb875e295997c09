// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "formats/importers/database_kernels.h"
#include "formats/importers/importers.h"
#include "formats/importers/recorded_launches.h"
#include "formats/importers/unread_formats.h"
#include "formats/importers/untrusted_database.h"

namespace stemtap::formats {
namespace {

using ReadDatabase = Status (*)(Database& database, std::int64_t file_bytes,
                                RecordedLaunches& launches);

// Tables that identify the tool that wrote a database. If `read` is null, the database is rejected
// and `advice` describes how to get a profile.
struct KnownTable {
  std::string_view prefix;
  ReadDatabase read;
  std::string_view advice;
};

// In order of detection: nvprof's databases also have a table CUPTI_ACTIVITY_KIND_KERNEL.
constexpr std::array kKnownTables = {
    KnownTable{"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", nullptr,
               "is an nvprof database, which stemtap cannot read; convert it with 'nvprof "
               "--import-profile FILE --csv --print-gpu-trace --log-file trace.csv'"},
    KnownTable{"CUPTI_ACTIVITY_KIND_KERNEL", ReadNsysKernels, ""},
    KnownTable{"StringIds", ReadNsysKernels, ""},
    KnownTable{"META_DATA_CAPTURE", ReadNsysKernels, ""},
    KnownTable{"META_DATA_EXPORT", ReadNsysKernels, ""},
    KnownTable{"TARGET_INFO_SESSION_START_TIME", ReadNsysKernels, ""},
    KnownTable{kRocpdDispatchTable, ReadRocpdDispatches, ""},
    KnownTable{"rocpd_op", nullptr,
               "is a database of rocmProfileData (rpd), which stemtap cannot read; record with "
               "'rocprofv3 --kernel-trace -- PROGRAM' instead"},
    KnownTable{"KERN", nullptr,
               "is a database of rocprof, which stemtap cannot read; record a table with 'rocprof "
               "--timestamp on -o results.csv PROGRAM', or use rocprofv3"},
};

Status ReadLaunches(Database& database, std::int64_t file_bytes, RecordedLaunches& launches) {
  for (const KnownTable& known : kKnownTables) {
    if (!STEMTAP_TRY(database.HasTableWithPrefix(known.prefix))) continue;
    if (known.read != nullptr) return known.read(database, file_bytes, launches);
    return Error{fmt::format("{}: {}", database.name(), AdviceFor(database.name(), known.advice))};
  }
  return Error{
      fmt::format("{}: is an SQLite database of an unknown tool; expected one made by 'nsys export "
                  "--type sqlite report.nsys-rep' or by rocprofv3",
                  database.name())};
}

}  // namespace

bool LooksLikeRocpd(std::string_view leading) {
  return leading.starts_with(kDatabaseMagic) &&
         leading.find(kRocpdDispatchTable) != std::string_view::npos;
}

bool LooksLikeNsysSqlite(std::string_view leading) {
  return leading.starts_with(kDatabaseMagic) && !LooksLikeRocpd(leading);
}

Result<std::unique_ptr<model::ProfileReader>> OpenDatabaseProfile(
    std::unique_ptr<ByteSource> source) {
  const std::string name = source->name();
  auto launches = std::make_unique<RecordedLaunches>();
  STEMTAP_TRY(UseDatabase(std::move(source), [&](Database& database, std::int64_t bytes) -> Status {
    return ReadLaunches(database, bytes, *launches);
  }));
  launches->Finish(name);
  return std::unique_ptr<model::ProfileReader>(std::move(launches));
}

}  // namespace stemtap::formats
