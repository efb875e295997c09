// SPDX-License-Identifier: Apache-2.0
//
// Compares nvtx/nvtx_abi.h with NVIDIA's headers. Everything is checked when this file is compiled.
#include "nvtx/nvtx_abi.h"

#include <doctest/doctest.h>
#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <type_traits>

namespace stemtap::inject::nvtx {
namespace {

static_assert(kCallbacksTable == NVTX_ETID_CALLBACKS);
static_assert(kCoreModule == NVTX_CB_MODULE_CORE);
static_assert(kCore2Module == NVTX_CB_MODULE_CORE2);
static_assert(sizeof(NvtxCallbackModule) == sizeof(std::int32_t));

constexpr bool Is(CoreFunction ours, NvtxCallbackIdCore theirs) {
  return static_cast<std::uint32_t>(ours) == static_cast<std::uint32_t>(theirs);
}
constexpr bool Is(Core2Function ours, NvtxCallbackIdCore2 theirs) {
  return static_cast<std::uint32_t>(ours) == static_cast<std::uint32_t>(theirs);
}
constexpr bool Is(MessageType ours, nvtxMessageType_t theirs) {
  return static_cast<std::int32_t>(ours) == static_cast<std::int32_t>(theirs);
}

static_assert(Is(CoreFunction::kRangeStartEx, NVTX_CBID_CORE_RangeStartEx));
static_assert(Is(CoreFunction::kRangeStartA, NVTX_CBID_CORE_RangeStartA));
static_assert(Is(CoreFunction::kRangeStartW, NVTX_CBID_CORE_RangeStartW));
static_assert(Is(CoreFunction::kRangeEnd, NVTX_CBID_CORE_RangeEnd));
static_assert(Is(CoreFunction::kRangePushEx, NVTX_CBID_CORE_RangePushEx));
static_assert(Is(CoreFunction::kRangePushA, NVTX_CBID_CORE_RangePushA));
static_assert(Is(CoreFunction::kRangePushW, NVTX_CBID_CORE_RangePushW));
static_assert(Is(CoreFunction::kRangePop, NVTX_CBID_CORE_RangePop));
static_assert(Is(Core2Function::kDomainRangeStartEx, NVTX_CBID_CORE2_DomainRangeStartEx));
static_assert(Is(Core2Function::kDomainRangeEnd, NVTX_CBID_CORE2_DomainRangeEnd));
static_assert(Is(Core2Function::kDomainRangePushEx, NVTX_CBID_CORE2_DomainRangePushEx));
static_assert(Is(Core2Function::kDomainRangePop, NVTX_CBID_CORE2_DomainRangePop));
static_assert(Is(Core2Function::kDomainRegisterStringA, NVTX_CBID_CORE2_DomainRegisterStringA));
static_assert(Is(Core2Function::kDomainRegisterStringW, NVTX_CBID_CORE2_DomainRegisterStringW));
static_assert(Is(Core2Function::kDomainCreateA, NVTX_CBID_CORE2_DomainCreateA));
static_assert(Is(Core2Function::kDomainCreateW, NVTX_CBID_CORE2_DomainCreateW));

static_assert(Is(MessageType::kNone, NVTX_MESSAGE_UNKNOWN));
static_assert(Is(MessageType::kText, NVTX_MESSAGE_TYPE_ASCII));
static_assert(Is(MessageType::kWideText, NVTX_MESSAGE_TYPE_UNICODE));
static_assert(Is(MessageType::kRegistered, NVTX_MESSAGE_TYPE_REGISTERED));

static_assert(sizeof(DomainHandle) == sizeof(nvtxDomainHandle_t));
static_assert(sizeof(StringHandle) == sizeof(nvtxStringHandle_t));
static_assert(std::is_same_v<RangeId, nvtxRangeId_t> ||
              (std::is_unsigned_v<nvtxRangeId_t> && sizeof(RangeId) == sizeof(nvtxRangeId_t)));

static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
static_assert(alignof(EventAttributes) == alignof(nvtxEventAttributes_t));
#define STEMTAP_CHECK_FIELD(ours, theirs)                                                    \
  static_assert(offsetof(EventAttributes, ours) == offsetof(nvtxEventAttributes_t, theirs)); \
  static_assert(sizeof(EventAttributes::ours) == sizeof(nvtxEventAttributes_t::theirs))
STEMTAP_CHECK_FIELD(version, version);
STEMTAP_CHECK_FIELD(size, size);
STEMTAP_CHECK_FIELD(category, category);
STEMTAP_CHECK_FIELD(color_type, colorType);
STEMTAP_CHECK_FIELD(color, color);
STEMTAP_CHECK_FIELD(payload_type, payloadType);
STEMTAP_CHECK_FIELD(reserved, reserved0);
STEMTAP_CHECK_FIELD(payload, payload);
STEMTAP_CHECK_FIELD(message_type, messageType);
STEMTAP_CHECK_FIELD(message, message);
static_assert(std::is_same_v<decltype(nvtxMessageValue_t::ascii), const char*>);
static_assert(std::is_same_v<decltype(nvtxMessageValue_t::unicode), const wchar_t*>);

static_assert(sizeof(CallbacksTable) == sizeof(NvtxExportTableCallbacks));
static_assert(offsetof(CallbacksTable, struct_size) ==
              offsetof(NvtxExportTableCallbacks, struct_size));
static_assert(offsetof(CallbacksTable, get_functions) ==
              offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
static_assert(std::is_same_v<FunctionTable, NvtxFunctionTable>);
static_assert(std::is_same_v<GetExportTable, NvtxGetExportTableFunc_t>);
static_assert(std::is_same_v<int (*)(GetExportTable), NvtxInitializeInjectionNvtxFunc_t>);

TEST_CASE("the declarations of NVTX's injection interface are those of NVIDIA's headers") {
  // A pop without a range has a negative result, and this one has a meaning of its own.
  CHECK(NVTX_NO_PUSH_POP_TRACKING == -2);
}

}  // namespace
}  // namespace stemtap::inject::nvtx
