// SPDX-License-Identifier: Apache-2.0
//
// Arrays: cuArray*, cuMemcpy between arrays and memory in one dimension. Copies of rectangles and
// boxes are in copies_api.cpp.
#include <algorithm>

#include "cuda/stream_work.h"

using namespace fake_gpu;

namespace {

// Returns 0 for formats of textures that are compressed or have several planes.
std::size_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

CUresult Create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && descriptor.Width != 0, CUDA_ERROR_INVALID_VALUE);
  const std::size_t element = ChannelBytes(descriptor.Format) * descriptor.NumChannels;
  FAKE_GPU_REQUIRE(element != 0, CUDA_ERROR_NOT_SUPPORTED);
  auto array = std::make_unique<CUarray_st>();
  array->descriptor = descriptor;
  array->pitch = descriptor.Width * element;
  array->height = std::max<std::size_t>(descriptor.Height, 1);
  const std::size_t slices = std::max<std::size_t>(descriptor.Depth, 1);
  array->data = std::make_unique<char[]>(array->pitch * array->height * slices);  // zeroed
  *out = array.release();
  return CUDA_SUCCESS;
}

// One side of a copy: bytes of an array from an offset.
CUDA_MEMCPY3D FromArray(CUarray array, std::size_t offset, std::size_t bytes) {
  CUDA_MEMCPY3D copy = LinearCopy(nullptr, nullptr, bytes);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.srcXInBytes = offset;
  return copy;
}

CUDA_MEMCPY3D ToArray(CUarray array, std::size_t offset, const void* from, std::size_t bytes) {
  CUDA_MEMCPY3D copy = LinearCopy(nullptr, from, bytes);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.dstXInBytes = offset;
  return copy;
}

CUDA_MEMCPY3D FromArrayTo(void* to, CUarray array, std::size_t offset, std::size_t bytes) {
  CUDA_MEMCPY3D copy = FromArray(array, offset, bytes);
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  return copy;
}

}  // namespace

FAKE_GPU_EXPORT CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* d) {
  FAKE_GPU_REQUIRE(d != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Create(out, {d->Width, d->Height, 0, d->Format, d->NumChannels, 0});
}
FAKE_GPU_ALIAS("cuArrayCreate", "cuArrayCreate_v2");

FAKE_GPU_EXPORT CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* d) {
  FAKE_GPU_REQUIRE(d != nullptr, CUDA_ERROR_INVALID_VALUE);
  return Create(out, *d);
}
FAKE_GPU_ALIAS("cuArray3DCreate", "cuArray3DCreate_v2");

FAKE_GPU_EXPORT CUresult cuArrayDestroy(CUarray array) {
  FAKE_GPU_REQUIRE_READY();
  delete array;
  return CUDA_SUCCESS;
}

FAKE_GPU_EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && array != nullptr, CUDA_ERROR_INVALID_VALUE);
  *out = array->descriptor;
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuArray3DGetDescriptor", "cuArray3DGetDescriptor_v2");

FAKE_GPU_EXPORT CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray array) {
  FAKE_GPU_REQUIRE_READY();
  FAKE_GPU_REQUIRE(out != nullptr && array != nullptr, CUDA_ERROR_INVALID_VALUE);
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  *out = {d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}
FAKE_GPU_ALIAS("cuArrayGetDescriptor", "cuArrayGetDescriptor_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from,
                                         size_t bytes) {
  return RunNow(ToArray(to, offset, from, bytes));
}
FAKE_GPU_ALIAS("cuMemcpyHtoA", "cuMemcpyHtoA_v2");
FAKE_GPU_ALIAS("cuMemcpyHtoA_v2_ptds", "cuMemcpyHtoA_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from,
                                         size_t bytes) {
  return RunNow(ToArray(to, offset, reinterpret_cast<const void*>(from), bytes));
}
FAKE_GPU_ALIAS("cuMemcpyDtoA", "cuMemcpyDtoA_v2");
FAKE_GPU_ALIAS("cuMemcpyDtoA_v2_ptds", "cuMemcpyDtoA_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
  return RunNow(FromArrayTo(to, from, offset, bytes));
}
FAKE_GPU_ALIAS("cuMemcpyAtoH", "cuMemcpyAtoH_v2");
FAKE_GPU_ALIAS("cuMemcpyAtoH_v2_ptds", "cuMemcpyAtoH_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset,
                                         size_t bytes) {
  return RunNow(FromArrayTo(reinterpret_cast<void*>(to), from, offset, bytes));
}
FAKE_GPU_ALIAS("cuMemcpyAtoD", "cuMemcpyAtoD_v2");
FAKE_GPU_ALIAS("cuMemcpyAtoD_v2_ptds", "cuMemcpyAtoD_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from,
                                         size_t from_offset, size_t bytes) {
  CUDA_MEMCPY3D copy = FromArray(from, from_offset, bytes);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = to;
  copy.dstXInBytes = to_offset;
  return RunNow(copy);
}
FAKE_GPU_ALIAS("cuMemcpyAtoA", "cuMemcpyAtoA_v2");
FAKE_GPU_ALIAS("cuMemcpyAtoA_v2_ptds", "cuMemcpyAtoA_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from,
                                              size_t bytes, CUstream stream) {
  return Enqueue(stream, ToArray(to, offset, from, bytes));
}
FAKE_GPU_ALIAS("cuMemcpyHtoAAsync", "cuMemcpyHtoAAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyHtoAAsync_v2_ptsz", "cuMemcpyHtoAAsync_v2");

FAKE_GPU_EXPORT CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes,
                                              CUstream stream) {
  return Enqueue(stream, FromArrayTo(to, from, offset, bytes));
}
FAKE_GPU_ALIAS("cuMemcpyAtoHAsync", "cuMemcpyAtoHAsync_v2");
FAKE_GPU_ALIAS("cuMemcpyAtoHAsync_v2_ptsz", "cuMemcpyAtoHAsync_v2");
