// SPDX-License-Identifier: Apache-2.0
//
// Tests kernel names whose memory is unmapped before their records arrive.
#include <doctest/doctest.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>

#include "recording/name_pointers.h"
#include "recording/name_reader.h"

namespace stemtap::inject {
namespace {

// Pages has three pages that can be unmapped separately.
class Pages {
 public:
  Pages()
      : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        base_(static_cast<char*>(mmap(nullptr, 3 * bytes_, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    REQUIRE(base_ != MAP_FAILED);
  }
  ~Pages() { munmap(base_, 3 * bytes_); }
  char* at(std::size_t page) { return base_ + page * bytes_; }
  void Unmap(std::size_t page) { REQUIRE(munmap(at(page), bytes_) == 0); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  char* base_;
};

std::string TextOf(NameReader& reader, const char* name) {
  reader.Forget();
  const std::uint32_t length = reader.Read(name);
  REQUIRE(length <= NameReader::kMaxBytes);
  return {reader.text(), length};
}

TEST_CASE("a name is read completely across page boundaries") {
  Pages pages;
  const auto reader = std::make_unique<NameReader>();
  for (const std::size_t length : {0u, 1u, 7u, 100u, 5000u}) {
    for (const std::size_t before : {0u, 1u, 99u, 100u, 101u, 2000u}) {
      char* name = pages.at(1) - before;
      std::memset(pages.at(0), 0, 3 * pages.bytes());
      std::memset(name, 'k', length);
      CAPTURE(length);
      CAPTURE(before);
      CHECK(TextOf(*reader, name) == std::string(length, 'k'));
    }
  }
}

TEST_CASE("a name is read up to its end or the maximum length") {
  const auto reader = std::make_unique<NameReader>();
  const std::string just(shm::kMaxNameBytes, 'k');
  CHECK(reader->Read(just.c_str()) == shm::kMaxNameBytes);
  const std::string longer(3 * shm::kMaxNameBytes, 'k');
  reader->Forget();  // both names may be on one page
  CHECK(reader->Read(longer.c_str()) == shm::kMaxNameBytes + 1);
  Pages pages;
  pages.Unmap(2);
  char* last = pages.at(2) - 6;
  std::memcpy(last, "short", 6);  // ends at the end of the page
  CHECK(TextOf(*reader, last) == "short");
}

TEST_CASE("a name that is unmapped completely or in part is reported") {
  Pages pages;
  const auto reader = std::make_unique<NameReader>();
  std::strcpy(pages.at(2), "short");
  std::memset(pages.at(1) + 10, 'k', pages.bytes() - 10);
  CHECK(reader->Read(pages.at(1) + 10) == pages.bytes() - 10 + 5);
  pages.Unmap(2);
  reader->Forget();
  errno = EDOM;
  CHECK(reader->Read(pages.at(2)) == NameReader::kGone);
  CHECK(reader->Read(pages.at(1) + 10) == NameReader::kGone);
  CHECK(reader->Read(nullptr) == NameReader::kGone);
  CHECK(errno == EDOM);
  CHECK(reader->Read(pages.at(0)) == 0);  // this page is mapped
}

// Returns 0 if a name is read and an unmapped name is detected while a filter applies `end`, one of
// SECCOMP_RET_..., to process_vm_readv. Returns 2 if no filter can be installed.
int ReadWhereFiltered(NameReader& reader, Pages& pages, std::uint32_t end) {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, end),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter = {std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) {
    return 2;
  }
  const std::uint32_t length = reader.Read(pages.at(0) + 10);
  if (std::string(reader.text(), length) != "a name") return 1;
  return reader.Read(pages.at(2)) == NameReader::kGone ? 0 : 1;
}

TEST_CASE("an unmapped name is reported if process_vm_readv is forbidden") {
  // The filter returns an error or ends the program.
  for (const std::uint32_t end : {SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_KILL_PROCESS}) {
    CAPTURE(end);
    Pages pages;
    const auto reader = std::make_unique<NameReader>();
    std::strcpy(pages.at(0) + 10, "a name");
    pages.Unmap(2);
    const pid_t child = fork();
    if (child == 0) {
      // Names were read before the filter was installed.
      if (TextOf(*reader, pages.at(0) + 10) != "a name") _exit(1);
      reader->Forget();
      _exit(ReadWhereFiltered(*reader, pages, end));
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
      MESSAGE("SKIPPED: this machine does not allow seccomp filters");
      return;
    }
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

TEST_CASE("a page that was read is cached until Forget") {
  Pages pages;
  const auto reader = std::make_unique<NameReader>();
  std::strcpy(pages.at(1), "before");
  std::strcpy(pages.at(1) + 100, "another");
  CHECK(TextOf(*reader, pages.at(1)) == "before");
  std::strcpy(pages.at(1) + 100, "changed");
  CHECK(reader->Read(pages.at(1) + 100) == 7);
  CHECK(std::string(reader->text(), 7) == "another");
  CHECK(TextOf(*reader, pages.at(1) + 100) == "changed");
}

TEST_CASE("binary data is not a plausible name") {
  CHECK(NameReader::IsPlausible("", 0));
  CHECK(NameReader::IsPlausible("void k<float, 2>(float*)", 24));
  CHECK(NameReader::IsPlausible("_Z5k\xc3\xa4rnelv", 11));  // identifiers may contain any letters
  CHECK_FALSE(NameReader::IsPlausible("k\x01", 2));
  CHECK_FALSE(
      NameReader::IsPlausible("\x7f"
                              "ELF",
                              4));
}

TEST_CASE("a pointer is found in its buffer and is remembered afterward") {
  const auto pointers = std::make_unique<NamePointers>();
  const std::string names(1000, 'k');
  const char* name = names.data();
  CHECK(pointers->FindInBuffer(name) == NameIds::kNone);
  CHECK(pointers->FindLast(name) == NameIds::kNone);
  pointers->NextBuffer();
  CHECK(pointers->FindInBuffer(name) == NameIds::kNone);
  pointers->Put(name, 7);
  CHECK(pointers->FindInBuffer(name) == 7);
  CHECK(pointers->FindInBuffer(name + 1) == NameIds::kNone);
  CHECK(pointers->FindLast(name + 1) == NameIds::kNone);
  pointers->NextBuffer();
  CHECK(pointers->FindInBuffer(name) == NameIds::kNone);
  CHECK(pointers->FindLast(name) == 7);
  pointers->Put(name, 8);
  CHECK(pointers->FindInBuffer(name) == 8);
}

TEST_CASE("hundreds of pointers are remembered; if there are too many, the latest are") {
  const auto pointers = std::make_unique<NamePointers>();
  pointers->NextBuffer();
  const std::string names(1'000'000, 'k');
  const auto name = [&](std::uint32_t i) { return names.data() + std::size_t{33} * i; };
  for (std::uint32_t i = 0; i < 500; ++i) pointers->Put(name(i), i);
  std::uint32_t known = 0;
  for (std::uint32_t i = 0; i < 500; ++i) known += pointers->FindInBuffer(name(i)) == i;
  CHECK(known >= 499);
  for (std::uint32_t i = 0; i < 30'000; ++i) {
    pointers->NextBuffer();
    pointers->Put(name(i), i);
    REQUIRE(pointers->FindInBuffer(name(i)) == i);
    if (i > 0) REQUIRE(pointers->FindLast(name(i - 1)) == i - 1);
  }
}

}  // namespace
}  // namespace stemtap::inject
