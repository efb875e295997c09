// SPDX-License-Identifier: Apache-2.0
#include "nvtx/nvtx_names.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "nvtx/wide_text.h"

namespace stemtap::inject {
namespace {

std::string TextOf(RangeName name) {
  return {name.text, name.bytes};
}
RangeName Name(const std::string& text) {
  return NameOf(text.c_str());
}

TEST_CASE("a string has one handle and is copied") {
  const auto names = std::make_unique<NvtxNames>();
  std::string text = "forward";
  const void* handle = names->StringHandle(Name(text));
  text[0] = 'X';
  CHECK(handle != nullptr);
  CHECK(TextOf(names->StringOf(handle)) == "forward");
  CHECK(names->StringHandle(Name("forward")) == handle);
  CHECK(names->StringHandle(Name("backward")) != handle);
}

TEST_CASE("other pointers than handles are no strings and no domains") {
  const auto names = std::make_unique<NvtxNames>();
  const auto number = reinterpret_cast<std::uintptr_t>(names->StringHandle(Name("a")));
  REQUIRE(names->DomainHandle(Name("d")) != nullptr);
  const int object = 0;
  // Each domain and each string has the next number. The domain's name is a string, too.
  for (const std::uintptr_t other :
       {std::uintptr_t{0}, number + 2, number + 100, ~std::uintptr_t{0},
        reinterpret_cast<std::uintptr_t>(&object)}) {
    const auto* pointer = reinterpret_cast<const void*>(other);
    CHECK(TextOf(names->StringOf(pointer)) == "(unnamed)");
    CHECK(names->DomainOf(pointer).id == kDefaultNvtxDomain.id);
    CHECK(names->DomainOf(pointer).prefix_bytes() == 0);
  }
}

TEST_CASE("a domain has one handle and its own id") {
  const auto names = std::make_unique<NvtxNames>();
  const void* handle = names->DomainHandle(Name("lib"));
  CHECK(names->DomainHandle(Name("lib")) == handle);
  const void* other = names->DomainHandle(Name("other"));
  CHECK(other != handle);
  const RangeDomain domain = names->DomainOf(handle);
  CHECK(TextOf({domain.name, domain.name_bytes}) == "lib");
  CHECK(domain.id >= kFirstNamedDomain);
  CHECK(names->DomainOf(other).id != domain.id);
  // The name of a domain may be a registered string, too.
  CHECK(TextOf(names->StringOf(names->StringHandle(Name("lib")))) == "lib");
}

TEST_CASE("a long name of a domain is cut between characters") {
  const auto names = std::make_unique<NvtxNames>();
  const std::string before(NvtxNames::kMaxDomainNameBytes - 1, 'a');
  const RangeDomain domain = names->DomainOf(names->DomainHandle(Name(before + "\xC3\xA9")));
  CHECK(TextOf({domain.name, domain.name_bytes}) == before);
}

TEST_CASE("strings and domains beyond the maximum share one") {
  const auto names = std::make_unique<NvtxNames>();
  std::vector<const void*> domains;
  for (std::uint32_t i = 0; i < NvtxNames::kMaxDomains; ++i) {
    domains.push_back(names->DomainHandle(Name("domain " + std::to_string(i))));
  }
  std::set<std::uint32_t> ids;
  for (const void* handle : domains) ids.insert(names->DomainOf(handle).id);
  CHECK(ids.size() == NvtxNames::kMaxDomains);
  const RangeDomain further = names->DomainOf(names->DomainHandle(Name("one more")));
  CHECK(TextOf({further.name, further.name_bytes}) == "(other)");
  CHECK_FALSE(ids.contains(further.id));
  CHECK(names->DomainHandle(Name("domain 0")) == domains[0]);

  std::set<const void*> strings;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const std::string text = "string " + std::to_string(i);
    const void* handle = names->StringHandle(Name(text));
    const std::string found = TextOf(names->StringOf(handle));
    REQUIRE((found == text || found == "(other)"));
    if (found == text) strings.insert(handle);
  }
  // The names of the domains are strings.
  CHECK(strings.size() == NvtxNames::kMaxStrings - NvtxNames::kMaxDomains - 1);
  CHECK(strings.contains(names->StringHandle(Name("string 0"))));
  CHECK(TextOf(names->StringOf(names->StringHandle(Name("string 9999")))) == "(other)");
}

TEST_CASE("threads that register the same names get the same handles") {
  const auto names = std::make_unique<NvtxNames>();
  constexpr int kThreads = 4;
  std::vector<std::vector<const void*>> handles(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string text = std::to_string(i);
        handles[static_cast<std::size_t>(t)].push_back(names->StringHandle(Name(text)));
        handles[static_cast<std::size_t>(t)].push_back(names->DomainHandle(Name(text)));
        CHECK(TextOf(names->StringOf(names->StringHandle(Name(text)))) == text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& of_thread : handles) CHECK(of_thread == handles[0]);
}

TEST_CASE("wide strings are converted to UTF-8") {
  WideText wide;
  CHECK(TextOf(wide.Convert(L"decode")) == "decode");
  CHECK(TextOf(wide.Convert(L"\u007F\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF")) ==
        "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
  const wchar_t invalid[] = {L'a', wchar_t{0xD800}, wchar_t{0x110000}, wchar_t{-1}, L'b', 0};
  CHECK(TextOf(wide.Convert(invalid)) ==
        "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
        "b");
  CHECK(TextOf(wide.Convert(L"")) == "(unnamed)");
  CHECK(TextOf(wide.Convert(nullptr)) == "(unnamed)");
  const std::wstring full(kMaxRangeNameBytes, L'x');
  CHECK(TextOf(wide.Convert((full + L"y").c_str())) == std::string(kMaxRangeNameBytes, 'x'));
  const std::wstring before(kMaxRangeNameBytes - 1, L'x');
  CHECK(TextOf(wide.Convert((before + L"\u00E9" + L"y").c_str())) ==
        std::string(kMaxRangeNameBytes - 1, 'x'));
}

}  // namespace
}  // namespace stemtap::inject
