// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects: numbered descriptions, because kernels read nothing. Tensor maps are
// filled with a pattern.
#include <cstring>
#include <map>
#include <mutex>

#include "cuda/state.h"

namespace {

struct Texture {
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  CUDA_RESOURCE_VIEW_DESC view;
};

struct Objects {
  std::mutex mutex;
  std::map<unsigned long long, Texture> textures;
  std::map<unsigned long long, CUDA_RESOURCE_DESC> surfaces;
  unsigned long long next = 1;
};

Objects& objects() {
  static Objects& instance = *new Objects;  // leaked: used at exit
  return instance;
}

template <typename T>
T ValueOrZero(const T* value) {
  return value == nullptr ? T{} : *value;
}

// Stores a member of a texture.
template <typename T>
CUresult Get(CUtexObject object, T Texture::*member, T* out) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().textures.find(object);
  FAKE_GPU_REQUIRE(out != nullptr && found != objects().textures.end(), CUDA_ERROR_INVALID_VALUE);
  *out = found->second.*member;
  return CUDA_SUCCESS;
}

CUresult Encode(CUtensorMap* map) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(map != nullptr, CUDA_ERROR_INVALID_VALUE);
  std::memset(map, 0xFA, sizeof *map);
  return CUDA_SUCCESS;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                                           const CUDA_TEXTURE_DESC* texture,
                                           const CUDA_RESOURCE_VIEW_DESC* view) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && resource != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(objects().mutex);
  *out = objects().next++;
  objects().textures[*out] = {*resource, ValueOrZero(texture), ValueOrZero(view)};
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuTexObjectDestroy(CUtexObject object) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(objects().mutex);
  return objects().textures.erase(object) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_GPU_EXPORT CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject object) {
  return Get(object, &Texture::resource, out);
}

FAKE_GPU_EXPORT CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject object) {
  return Get(object, &Texture::texture, out);
}

FAKE_GPU_EXPORT CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out,
                                                        CUtexObject object) {
  return Get(object, &Texture::view, out);
}

FAKE_GPU_EXPORT CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && resource != nullptr, CUDA_ERROR_INVALID_VALUE);
  const std::lock_guard lock(objects().mutex);
  *out = objects().next++;
  objects().surfaces[*out] = *resource;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuSurfObjectDestroy(CUsurfObject object) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(objects().mutex);
  return objects().surfaces.erase(object) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_GPU_EXPORT CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject object) {
  FAKE_GPU_REQUIRE_READY();
  const std::lock_guard lock(objects().mutex);
  const auto found = objects().surfaces.find(object);
  FAKE_GPU_REQUIRE(out != nullptr && found != objects().surfaces.end(), CUDA_ERROR_INVALID_VALUE);
  *out = found->second;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t,
                                                void*, const cuuint64_t*, const cuuint64_t*,
                                                const cuuint32_t*, const cuuint32_t*,
                                                CUtensorMapInterleave, CUtensorMapSwizzle,
                                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return Encode(map);
}

FAKE_GPU_EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType, cuuint32_t,
                                                 void*, const cuuint64_t*, const cuuint64_t*,
                                                 const int*, const int*, cuuint32_t, cuuint32_t,
                                                 const cuuint32_t*, CUtensorMapInterleave,
                                                 CUtensorMapSwizzle, CUtensorMapL2promotion,
                                                 CUtensorMapFloatOOBfill) {
  return Encode(map);
}

FAKE_GPU_EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void*) {
  FAKE_GPU_REQUIRE_READY();
  return map == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
