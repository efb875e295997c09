// SPDX-License-Identifier: Apache-2.0
#include "nvtx/nvtx_injection.h"

#include "control/program_control.h"
#include "nvtx/nvtx_names.h"
#include "nvtx/wide_text.h"

namespace stemtap::inject {
namespace {

using nvtx::EventAttributes;
using nvtx::RangeId;

// Zero-initialized, so it is in .bss.
constinit NvtxNames g_names;

// Returns the message of `event`, converted in `wide` if it is a wide string.
RangeName MessageOf(const EventAttributes* event, WideText& wide) noexcept {
  using nvtx::MessageType;
  if (event != nullptr && event->size >= sizeof(EventAttributes)) {
    switch (event->message_type) {
      case MessageType::kText:
        return NameOf(event->message.text);
      case MessageType::kWideText:
        return wide.Convert(event->message.wide_text);
      case MessageType::kRegistered:
        return g_names.StringOf(event->message.registered);
      case MessageType::kNone:
        break;
    }
  }
  return NameOf(nullptr);
}

int Push(const RangeDomain& domain, const EventAttributes* event) noexcept {
  WideText wide;
  return Control().PushRange(domain, MessageOf(event, wide));
}

RangeId Start(const RangeDomain& domain, const EventAttributes* event) noexcept {
  WideText wide;
  return Control().StartRange(domain, MessageOf(event, wide));
}

// The functions of NVTX, with its names.
int RangePushEx(const EventAttributes* event) {
  return Push(kDefaultNvtxDomain, event);
}
int RangePushA(const char* name) {
  return Control().PushRange(kDefaultNvtxDomain, NameOf(name));
}
int RangePushW(const wchar_t* name) {
  WideText wide;
  return Control().PushRange(kDefaultNvtxDomain, wide.Convert(name));
}
int RangePop() {
  return Control().PopRange(kDefaultNvtxDomain);
}
RangeId RangeStartEx(const EventAttributes* event) {
  return Start(kDefaultNvtxDomain, event);
}
RangeId RangeStartA(const char* name) {
  return Control().StartRange(kDefaultNvtxDomain, NameOf(name));
}
RangeId RangeStartW(const wchar_t* name) {
  WideText wide;
  return Control().StartRange(kDefaultNvtxDomain, wide.Convert(name));
}
void RangeEnd(RangeId id) {
  Control().EndRange(id);
}

int DomainRangePushEx(nvtx::DomainHandle domain, const EventAttributes* event) {
  return Push(g_names.DomainOf(domain), event);
}
int DomainRangePop(nvtx::DomainHandle domain) {
  return Control().PopRange(g_names.DomainOf(domain));
}
RangeId DomainRangeStartEx(nvtx::DomainHandle domain, const EventAttributes* event) {
  return Start(g_names.DomainOf(domain), event);
}
void DomainRangeEnd(nvtx::DomainHandle, RangeId id) {
  Control().EndRange(id);
}
nvtx::StringHandle DomainRegisterStringA(nvtx::DomainHandle, const char* text) {
  return g_names.StringHandle(NameOf(text));
}
nvtx::StringHandle DomainRegisterStringW(nvtx::DomainHandle, const wchar_t* text) {
  WideText wide;
  return g_names.StringHandle(wide.Convert(text));
}
nvtx::DomainHandle DomainCreateA(const char* name) {
  return g_names.DomainHandle(NameOf(name));
}
nvtx::DomainHandle DomainCreateW(const wchar_t* name) {
  WideText wide;
  return g_names.DomainHandle(wide.Convert(name));
}

struct Entry {
  std::uint32_t index;
  nvtx::Function function;
};

template <typename Index, typename Function>
Entry At(Index index, Function* function) noexcept {
  return {static_cast<std::uint32_t>(index), reinterpret_cast<nvtx::Function>(function)};
}

// Returns false if the shared object has no such module.
template <std::size_t kCount>
bool SetFunctions(const nvtx::CallbacksTable& callbacks, std::int32_t module,
                  const Entry (&entries)[kCount]) noexcept {
  nvtx::FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks.get_functions(module, &table, &size) == 0 || table == nullptr) return false;
  for (const Entry& entry : entries) {
    if (entry.index < size && table[entry.index] != nullptr) {
      *table[entry.index] = entry.function;
    }
  }
  return true;
}

}  // namespace

// Not set: marks, names of categories, resources and threads, and the destruction of domains.
bool ConnectNvtx(nvtx::GetExportTable get_table) noexcept {
  const auto* callbacks = static_cast<const nvtx::CallbacksTable*>(
      get_table == nullptr ? nullptr : get_table(nvtx::kCallbacksTable));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks) ||
      callbacks->get_functions == nullptr) {
    return false;
  }
  using nvtx::Core2Function;
  using nvtx::CoreFunction;
  const Entry core[] = {
      At(CoreFunction::kRangeStartEx, RangeStartEx), At(CoreFunction::kRangeStartA, RangeStartA),
      At(CoreFunction::kRangeStartW, RangeStartW),   At(CoreFunction::kRangeEnd, RangeEnd),
      At(CoreFunction::kRangePushEx, RangePushEx),   At(CoreFunction::kRangePushA, RangePushA),
      At(CoreFunction::kRangePushW, RangePushW),     At(CoreFunction::kRangePop, RangePop)};
  const Entry core2[] = {At(Core2Function::kDomainRangeStartEx, DomainRangeStartEx),
                         At(Core2Function::kDomainRangeEnd, DomainRangeEnd),
                         At(Core2Function::kDomainRangePushEx, DomainRangePushEx),
                         At(Core2Function::kDomainRangePop, DomainRangePop),
                         At(Core2Function::kDomainRegisterStringA, DomainRegisterStringA),
                         At(Core2Function::kDomainRegisterStringW, DomainRegisterStringW),
                         At(Core2Function::kDomainCreateA, DomainCreateA),
                         At(Core2Function::kDomainCreateW, DomainCreateW)};
  if (!SetFunctions(*callbacks, nvtx::kCoreModule, core)) return false;
  // NVTX 1 has no domains.
  SetFunctions(*callbacks, nvtx::kCore2Module, core2);
  return true;
}

}  // namespace stemtap::inject
