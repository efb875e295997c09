// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shm/record.h"

namespace stemtap::inject {
namespace {

bool IsDigit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Returns the end of the token of a mangled name at `at`: a number with the identifier of that many
// bytes behind it, the digits of a literal (Li128E), or one character.
std::size_t TokenEnd(const char* name, std::size_t length, std::size_t at) noexcept {
  std::size_t end = at;
  std::size_t number = 0;
  for (; end < length && IsDigit(name[end]); ++end) {
    number = number < length ? 10 * number + static_cast<std::size_t>(name[end] - '0') : length;
  }
  if (end == at) return at + 1;
  const bool is_literal =
      at >= 2 && (name[at - 2] == 'L' || name[at - 1] == 'n') && end < length && name[end] == 'E';
  return is_literal ? end : end + number;
}

std::size_t CutMangledName(const char* name, std::size_t length, std::size_t max_bytes) noexcept {
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = TokenEnd(name, length, at);
    if (end > max_bytes) return at;
    at = end;
  }
}

// Control characters would make the name implausible (NameReader::IsPlausible).
void CopyPrintable(const char* from, std::size_t length, char* to) noexcept {
  for (std::size_t i = 0; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    to[i] = byte < ' ' || byte == 0x7F ? '_' : from[i];
  }
}

}  // namespace

std::size_t CutKernelName(const char* name, std::size_t length, std::size_t max_bytes) noexcept {
  if (length <= max_bytes) return length;
  if (length >= 2 && name[0] == '_' && name[1] == 'Z') {
    return CutMangledName(name, length, max_bytes);
  }
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;
  return end;
}

std::uint32_t WriteGraphName(const GraphSummary& graph, char (&name)[kGraphNameBytes]) noexcept {
  std::size_t at = static_cast<std::size_t>(::snprintf(
      name, sizeof(name), "graph of %u kernel%s", graph.kernels, graph.kernels == 1 ? "" : "s"));
  if (graph.kernel != nullptr) {
    at += static_cast<std::size_t>(
        ::snprintf(name + at, sizeof(name) - at, ", %u x ", graph.of_kernel));
    const std::size_t length = ::strnlen(graph.kernel, shm::kMaxNameBytes);
    const std::size_t kept = CutKernelName(graph.kernel, length, kMaxKernelInGraphName);
    CopyPrintable(graph.kernel, kept, name + at);
    at += kept;
    if (kept < length) {
      ::memcpy(name + at, "...", 3);
      at += 3;
    }
  }
  at += static_cast<std::size_t>(
      ::snprintf(name + at, sizeof(name) - at, " #%016" PRIx64, graph.hash));
  return static_cast<std::uint32_t>(at);
}

std::uint32_t WriteGraphNumber(std::uint32_t graph_id, std::int32_t pid, std::uint32_t tag,
                               char (&name)[kGraphNameBytes]) noexcept {
  return static_cast<std::uint32_t>(
      ::snprintf(name, sizeof(name), "graph %u of process %d #%08x", graph_id, pid, tag));
}

}  // namespace stemtap::inject
