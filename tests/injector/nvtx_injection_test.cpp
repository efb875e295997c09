// SPDX-License-Identifier: Apache-2.0
//
// Tests the NVTX functions with tables as a shared object of a program offers them.
#include "nvtx/nvtx_injection.h"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "injector/thread_range.h"

namespace stemtap::inject {
namespace {

using nvtx::Core2Function;
using nvtx::CoreFunction;
using nvtx::EventAttributes;
using nvtx::MessageType;

void Untouched() {}

// The functions of a shared object. The interface has no context, so each thread connects one.
constexpr unsigned kFunctions = 16;
struct Module {
  nvtx::Function functions[2][kFunctions];
  nvtx::Function* tables[2][kFunctions];
  unsigned core2_size = kFunctions;
  bool has_core2 = true;

  Module() {
    for (int t = 0; t < 2; ++t) {
      for (unsigned i = 0; i < kFunctions; ++i) {
        functions[t][i] = Untouched;
        tables[t][i] = i == 0 ? nullptr : &functions[t][i];
      }
    }
  }
  template <typename Function>
  Function* Get(CoreFunction index) const {
    return reinterpret_cast<Function*>(functions[0][static_cast<unsigned>(index)]);
  }
  template <typename Function>
  Function* Get(Core2Function index) const {
    return reinterpret_cast<Function*>(functions[1][static_cast<unsigned>(index)]);
  }
};
thread_local Module* t_module = nullptr;

int GetFunctions(std::int32_t module, nvtx::FunctionTable* table, unsigned* size) {
  if (module == nvtx::kCoreModule) {
    *table = t_module->tables[0];
    *size = kFunctions;
    return 1;
  }
  if (module != nvtx::kCore2Module || !t_module->has_core2) return 0;
  *table = t_module->tables[1];
  *size = t_module->core2_size;
  return 1;
}

const void* GetTable(std::uint32_t id) {
  static const nvtx::CallbacksTable table = {sizeof(nvtx::CallbacksTable), GetFunctions};
  return id == nvtx::kCallbacksTable ? &table : nullptr;
}

bool Connect(Module& module) {
  t_module = &module;
  return ConnectNvtx(GetTable);
}

EventAttributes Event(const char* text) {
  EventAttributes event = {};
  event.version = 3;
  event.size = sizeof(event);
  event.message_type = MessageType::kText;
  event.message.text = text;
  return event;
}

TEST_CASE("a shared object that offers no functions is refused") {
  CHECK_FALSE(ConnectNvtx(nullptr));
  CHECK_FALSE(ConnectNvtx([](std::uint32_t) -> const void* { return nullptr; }));
  CHECK_FALSE(ConnectNvtx([](std::uint32_t) -> const void* {
    static const nvtx::CallbacksTable small = {sizeof(std::size_t), GetFunctions};
    return &small;
  }));
  CHECK_FALSE(ConnectNvtx([](std::uint32_t) -> const void* {
    static const nvtx::CallbacksTable none = {
        sizeof(nvtx::CallbacksTable),
        [](std::int32_t, nvtx::FunctionTable*, unsigned*) { return 0; }};
    return &none;
  }));
}

TEST_CASE("only functions that the shared object has and that are used are set") {
  Module module;
  module.core2_size = static_cast<unsigned>(Core2Function::kDomainRangePop);
  REQUIRE(Connect(module));
  CHECK((module.functions[0][static_cast<unsigned>(CoreFunction::kRangePop)] != Untouched));
  for (unsigned i : {0u, 1u, 2u, 3u, 12u, 13u, 14u, 15u})
    CHECK((module.functions[0][i] == Untouched));
  for (unsigned i = module.core2_size; i < kFunctions; ++i) {
    CHECK((module.functions[1][i] == Untouched));
  }
  Module old;
  old.has_core2 = false;
  CHECK(Connect(old));
}

TEST_CASE("the message of an event names its range") {
  Module module;
  REQUIRE(Connect(module));
  const auto push = module.Get<int(const EventAttributes*)>(CoreFunction::kRangePushEx);
  const auto pop = module.Get<int()>(CoreFunction::kRangePop);
  const auto string =
      module.Get<const void*(const void*, const char*)>(Core2Function::kDomainRegisterStringA);
  OnThread([&] {
    const auto named = [&](const EventAttributes& event) {
      CHECK(push(&event) == 0);
      std::string range = Range();
      CHECK(pop() == 0);
      return range;
    };
    EventAttributes event = Event("text");
    CHECK(named(event) == "text");
    event.message_type = MessageType::kWideText;
    event.message.wide_text = L"w\u00EFde";
    CHECK(named(event) ==
          "w\xC3\xAF"
          "de");
    event.message_type = MessageType::kRegistered;
    event.message.registered = string(nullptr, "registered");
    CHECK(named(event) == "registered");
    event.message.registered = nullptr;
    CHECK(named(event) == "(unnamed)");
    event.message_type = MessageType::kNone;
    CHECK(named(event) == "(unnamed)");
    event.message_type = static_cast<MessageType>(1234);
    CHECK(named(event) == "(unnamed)");
    event = Event("text");
    event.size = 8;
    CHECK(named(event) == "(unnamed)");
    CHECK(push(nullptr) == 0);
    CHECK(Range() == "(unnamed)");
    CHECK(pop() == 0);
    CHECK(pop() < 0);
  });
}

TEST_CASE("handles of one shared object work in all") {
  Module one;
  Module two;
  REQUIRE(Connect(one));
  REQUIRE(Connect(two));
  const auto create = one.Get<const void*(const char*)>(Core2Function::kDomainCreateA);
  const auto create_wide = two.Get<const void*(const wchar_t*)>(Core2Function::kDomainCreateW);
  const void* domain = create("shared");
  CHECK(create_wide(L"shared") == domain);
  const EventAttributes event = Event("range");
  OnThread([&] {
    CHECK(one.Get<int(const void*, const EventAttributes*)>(Core2Function::kDomainRangePushEx)(
              domain, &event) == 0);
    CHECK(Range() == "shared:range");
    CHECK(two.Get<int(const void*)>(Core2Function::kDomainRangePop)(domain) == 0);
    CHECK(Range().empty());
  });
}

TEST_CASE("ranges of the process are started and ended with and without a domain") {
  Module module;
  REQUIRE(Connect(module));
  using nvtx::RangeId;
  const void* domain = module.Get<const void*(const char*)>(Core2Function::kDomainCreateA)("d");
  const EventAttributes event = Event("event");
  const RangeId ids[] = {
      module.Get<RangeId(const char*)>(CoreFunction::kRangeStartA)("text"),
      module.Get<RangeId(const wchar_t*)>(CoreFunction::kRangeStartW)(L"wide"),
      module.Get<RangeId(const EventAttributes*)>(CoreFunction::kRangeStartEx)(&event),
      module.Get<RangeId(const void*, const EventAttributes*)>(Core2Function::kDomainRangeStartEx)(
          domain, &event)};
  const auto end = module.Get<void(RangeId)>(CoreFunction::kRangeEnd);
  const auto end_in = module.Get<void(const void*, RangeId)>(Core2Function::kDomainRangeEnd);
  OnThread([&] {
    CHECK(Range() == "d:event");
    end_in(domain, ids[3]);
    CHECK(Range() == "event");
    end(ids[2]);
    CHECK(Range() == "wide");
    end(ids[1]);
    CHECK(Range() == "text");
    end(ids[0]);
    CHECK(Range().empty());
  });
}

TEST_CASE("ten shared objects connect at once") {
  std::vector<Module> modules(10);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    threads.emplace_back([&modules, i] {
      REQUIRE(Connect(modules[i]));
      const std::string name = "object " + std::to_string(i);
      const void* domain =
          modules[i].Get<const void*(const char*)>(Core2Function::kDomainCreateA)(name.c_str());
      const EventAttributes event = Event("range");
      const auto push = modules[i].Get<int(const void*, const EventAttributes*)>(
          Core2Function::kDomainRangePushEx);
      const auto pop = modules[i].Get<int(const void*)>(Core2Function::kDomainRangePop);
      for (int n = 0; n < 100; ++n) {
        CHECK(push(domain, &event) == 0);
        CHECK(Range() == name + ":range");
        CHECK(pop(domain) == 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace stemtap::inject
