// SPDX-License-Identifier: Apache-2.0
#include "startup/locator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iterator>

#include "startup/runtime.h"

namespace stemtap::inject {
namespace {

constexpr std::size_t kPathBytes = 4096;

const char* BaseName(const char* path) noexcept {
  const char* slash = ::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

struct LoadedSearch {
  // Not an aggregate: initializing all of `path` would put 4 KiB of zeros into the library.
  explicit LoadedSearch(const char* file_prefix) noexcept : prefix(file_prefix) { path[0] = 0; }

  const char* prefix;
  char path[kPathBytes];
};

bool MatchesPrefix(const char* path, void* argument) noexcept {
  auto* search = static_cast<LoadedSearch*>(argument);
  if (::strncmp(BaseName(path), search->prefix, ::strlen(search->prefix)) != 0) return false;
  ::snprintf(search->path, sizeof(search->path), "%s", path);
  return true;
}

// Returns a handle to the loaded object whose file name begins with `prefix`, or nullptr.
void* FindLoaded(const char* prefix) noexcept {
  LoadedSearch search(prefix);
  ForEachModule(MatchesPrefix, &search);
  return search.path[0] == 0 ? nullptr : OpenLibrary(search.path, true);
}

// Version in a file name: a major number since CUDA 12; before that, one file name per release.
struct Version {
  unsigned major;
  int minor;  // -1: none
};
constexpr unsigned kOldestPlainMajor = 12;
constexpr Version kOldVersions[] = {{11, 8}, {11, 7}, {11, 6}, {11, 5}, {11, 4}, {11, 3},
                                    {11, 2}, {11, 1}, {11, 0}, {10, 2}, {10, 1}};

struct FileName {
  char text[32];
  explicit FileName(Version version) noexcept {
    if (version.minor < 0) {
      ::snprintf(text, sizeof(text), "libcupti.so.%u", version.major);
    } else {
      ::snprintf(text, sizeof(text), "libcupti.so.%u.%d", version.major, version.minor);
    }
  }
};

void* OpenIn(const char* folder, const char* inside, const FileName& name) noexcept {
  char path[kPathBytes];
  const int length = ::snprintf(path, sizeof(path), "%s/%s/%s", folder, inside, name.text);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof(path)) return nullptr;
  return ::access(path, R_OK) == 0 ? OpenLibrary(path, false) : nullptr;
}

// Finds the `site-packages` or `dist-packages` directory that contains the loaded object. Returns
// false if there is none.
bool SitePackages(const char* prefix, char* folder, std::size_t size) noexcept {
  LoadedSearch search(prefix);
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

// See the header for the search order.
void* OpenVersion(Version version) noexcept {
  const FileName name(version);
  char packages[kPathBytes];
  for (const char* anchor : {"libtorch", "libcudart"}) {
    if (!SitePackages(anchor, packages, sizeof(packages))) continue;
    if (void* library = OpenIn(packages, "nvidia/cuda_cupti/lib", name)) return library;
    char inside[64];
    ::snprintf(inside, sizeof(inside), "nvidia/cu%u/lib", version.major);
    if (void* library = OpenIn(packages, inside, name)) return library;
  }
  if (void* library = OpenLibrary(name.text, false)) return library;
  for (const char* root : {static_cast<const char*>(::getenv("CUDA_HOME")),
                           static_cast<const char*>(::getenv("CUDA_PATH")), "/usr/local/cuda"}) {
    if (root == nullptr || *root == 0) continue;
    if (void* library = OpenIn(root, "extras/CUPTI/lib64", name)) return library;
    if (void* library = OpenIn(root, "lib64", name)) return library;
  }
  return nullptr;
}

void* OpenMajor(unsigned major) noexcept {
  if (major >= kOldestPlainMajor) return OpenVersion({major, -1});
  for (const Version& version : kOldVersions) {
    if (version.major != major) continue;
    if (void* library = OpenVersion(version)) return library;
  }
  return nullptr;
}

}  // namespace

void* LocateDriver() noexcept {
  return FindLoaded("libcuda.so");
}

unsigned RuntimeMajorOf(const char* path) noexcept {
  const char* name = BaseName(path);
  if (::strncmp(name, "libcudart", 9) != 0) return 0;
  const char* suffix = ::strstr(name, ".so.");
  unsigned major = 0;
  if (suffix == nullptr) return 0;
  for (const char* c = suffix + 4; *c >= '0' && *c <= '9' && major < 1000; ++c) {
    major = major * 10 + static_cast<unsigned>(*c - '0');
  }
  return major;
}

void* LocateCupti(const char* wanted_path, std::uint32_t driver_version, char* problem,
                  std::size_t problem_size) noexcept {
  // Python wheels rename bundled libraries to libcupti-*.
  for (const char* prefix : {"libcupti.so", "libcupti-"}) {
    if (void* loaded = FindLoaded(prefix)) return loaded;
  }
  if (wanted_path != nullptr) {
    void* library = OpenLibrary(wanted_path, false);
    if (library == nullptr) {
      ::snprintf(problem, problem_size,
                 "CUPTI not found: STEMTAP_CUPTI is %s, which cannot be loaded", wanted_path);
    }
    return library;
  }
  const unsigned newest = driver_version != 0 ? driver_version / 1000 : 13;
  LoadedSearch runtime("libcudart");
  ForEachModule(MatchesPrefix, &runtime);
  const unsigned first = RuntimeMajorOf(runtime.path);
  if (first != 0 && first <= newest) {
    if (void* library = OpenMajor(first)) return library;
  }
  for (unsigned major = newest; major >= kOldVersions[std::size(kOldVersions) - 1].major; --major) {
    if (void* library = OpenMajor(major)) return library;
  }
  ::snprintf(
      problem, problem_size,
      "CUPTI not found: no libcupti.so.%u or older is loaded, on the library path, next to PyTorch "
      "or libcudart, in CUDA_HOME or in /usr/local/cuda; set STEMTAP_CUPTI to its path",
      newest);
  return nullptr;
}

}  // namespace stemtap::inject
