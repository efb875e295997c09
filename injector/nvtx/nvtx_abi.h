// SPDX-License-Identifier: Apache-2.0
//
// The part of NVTX's binary interface for injection libraries that this library uses. It has been
// the same since NVTX 2, so the library needs no NVTX headers and works with programs that were
// built with any of them. tests/injector/nvtx_abi_test.cpp compares it with NVIDIA's headers.
//
// Every shared object of the program that uses NVTX has its own tables of functions. At its first
// NVTX call, it loads the library that NVTX_INJECTION64_PATH names and calls its function
// InitializeInjectionNvtx2 with a function that returns these tables. Functions that the library
// does not set have no effect.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stemtap::inject::nvtx {

// Ids of export tables.
inline constexpr std::uint32_t kCallbacksTable = 1;

// Tables of functions.
inline constexpr std::int32_t kCoreModule = 1;   // functions without a domain
inline constexpr std::int32_t kCore2Module = 5;  // functions with a domain

// Indices of functions in the table of kCoreModule.
enum class CoreFunction : std::uint32_t {
  kRangeStartEx = 4,
  kRangeStartA = 5,
  kRangeStartW = 6,
  kRangeEnd = 7,
  kRangePushEx = 8,
  kRangePushA = 9,
  kRangePushW = 10,
  kRangePop = 11,
};

// Indices of functions in the table of kCore2Module.
enum class Core2Function : std::uint32_t {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd = 3,
  kDomainRangePushEx = 4,
  kDomainRangePop = 5,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW = 11,
  kDomainCreateA = 12,
  kDomainCreateW = 13,
};

// Handles are pointers that the injection library chooses. A null domain is the default domain.
using DomainHandle = const void*;
using StringHandle = const void*;
using RangeId = std::uint64_t;

enum class MessageType : std::int32_t {
  kNone = 0,
  kText = 1,
  kWideText = 2,
  kRegistered = 3,
};

// EventAttributes describes a range. Only its message is used.
struct EventAttributes {
  std::uint16_t version;
  std::uint16_t size;  // of the structure, as the program was compiled
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  MessageType message_type;
  union {
    const char* text;
    const wchar_t* wide_text;
    StringHandle registered;
  } message;
};
static_assert(sizeof(void*) != 8 || sizeof(EventAttributes) == 48);

using Function = void (*)();
// An array of pointers to the variables that contain the functions.
using FunctionTable = Function**;

// CallbacksTable is the export table kCallbacksTable.
struct CallbacksTable {
  std::size_t struct_size;
  // Stores a table and its number of entries. Returns 0 if the module does not exist.
  int (*get_functions)(std::int32_t module, FunctionTable* table, unsigned* size);
};

using GetExportTable = const void* (*)(std::uint32_t id);

}  // namespace stemtap::inject::nvtx
