// SPDX-License-Identifier: Apache-2.0
#include "locator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime.h"

namespace stemtap::inject {
namespace {

constexpr std::size_t kPathBytes = 4096;

const char* BaseName(const char* path) noexcept {
  const char* slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

struct LoadedSearch {
  const char* prefix;
  char path[kPathBytes];
};

bool MatchesPrefix(const char* path, void* argument) noexcept {
  auto* search = static_cast<LoadedSearch*>(argument);
  if (::strncmp(BaseName(path), search->prefix, ::strlen(search->prefix)) != 0) return false;
  ::snprintf(search->path, sizeof(search->path), "%s", path);
  return true;
}

// A handle to the loaded object whose file name begins with `prefix`.
void* FindLoaded(const char* prefix) noexcept {
  LoadedSearch search{prefix, {}};
  ForEachModule(MatchesPrefix, &search);
  return search.path[0] == 0 ? nullptr : OpenLibrary(search.path, true);
}

void* OpenIn(const char* folder, const char* inside, unsigned major) noexcept {
  char path[kPathBytes];
  const int length = ::snprintf(path, sizeof(path), "%s/%s/libcupti.so.%u", folder, inside, major);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof(path)) return nullptr;
  return ::access(path, R_OK) == 0 ? OpenLibrary(path, false) : nullptr;
}

// The folder `site-packages` above the loaded object, if it lies in one.
bool SitePackages(const char* prefix, char* folder, std::size_t size) noexcept {
  LoadedSearch search{prefix, {}};
  ForEachModule(MatchesPrefix, &search);
  for (const char* parent : {"/site-packages/", "/dist-packages/"}) {
    char* found = ::strstr(search.path, parent);
    if (found == nullptr) continue;
    found[::strlen(parent) - 1] = 0;
    ::snprintf(folder, size, "%s", search.path);
    return true;
  }
  return false;
}

}  // namespace

void* LocateDriver() noexcept { return FindLoaded("libcuda.so"); }

void* LocateCupti(const char* wanted_path, std::uint32_t driver_version) noexcept {
  if (void* loaded = FindLoaded("libcupti.so")) return loaded;
  if (wanted_path != nullptr) return OpenLibrary(wanted_path, false);

  // A CUPTI newer than the driver refuses to work, an older one works: the driver's major downwards.
  // CUDA 11's soname carries a minor version, one per release.
  const unsigned newest = driver_version != 0 ? driver_version / 1000 : 13;
  for (unsigned major = newest; major >= 12; --major) {
    char soname[64];
    ::snprintf(soname, sizeof(soname), "libcupti.so.%u", major);
    if (void* library = OpenLibrary(soname, false)) return library;
    char packages[kPathBytes];
    for (const char* anchor : {"libtorch", "libcudart.so"}) {
      if (!SitePackages(anchor, packages, sizeof(packages))) continue;
      if (void* library = OpenIn(packages, "nvidia/cuda_cupti/lib", major)) return library;
      char inside[64];
      ::snprintf(inside, sizeof(inside), "nvidia/cu%u/lib", major);
      if (void* library = OpenIn(packages, inside, major)) return library;
    }
    const char* home = ::getenv("CUDA_HOME");
    for (const char* root : {home, "/usr/local/cuda"}) {
      if (root == nullptr || *root == 0) continue;
      if (void* library = OpenIn(root, "extras/CUPTI/lib64", major)) return library;
      if (void* library = OpenIn(root, "lib64", major)) return library;
    }
  }
  for (int minor = 8; minor >= 0 && newest >= 11; --minor) {
    char soname[64];
    ::snprintf(soname, sizeof(soname), "libcupti.so.11.%d", minor);
    if (void* library = OpenLibrary(soname, false)) return library;
  }
  return nullptr;
}

}  // namespace stemtap::inject
