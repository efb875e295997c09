// SPDX-License-Identifier: Apache-2.0
#include "cuda/copies.h"

#include <algorithm>
#include <cstring>

#include "cuda/memory.h"

namespace fake_gpu {
namespace {

constexpr std::uint64_t kFixedNs = 2000;
constexpr std::uint64_t kHostBytesPerNs = 50;
constexpr std::uint64_t kDeviceBytesPerNs = 2000;

// Side is one end of a copy: where its rows are.
struct Side {
  char* first_row;
  std::size_t pitch;
  std::size_t slice_pitch;
};

Side SideOf(CUmemorytype type, const void* host, CUdeviceptr device, CUarray array,
            std::size_t pitch, std::size_t height, std::size_t x, std::size_t y, std::size_t z) {
  char* base = reinterpret_cast<char*>(device);
  if (type == CU_MEMORYTYPE_HOST) base = static_cast<char*>(const_cast<void*>(host));
  if (type == CU_MEMORYTYPE_ARRAY) {
    base = array->data.get();
    pitch = array->pitch;
    height = array->height;
  }
  const std::size_t slice_pitch = pitch * std::max<std::size_t>(height, 1);
  return {base + x + y * pitch + z * slice_pitch, pitch, slice_pitch};
}

Side From(const CUDA_MEMCPY3D& c) {
  return SideOf(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch, c.srcHeight,
                c.srcXInBytes, c.srcY, c.srcZ);
}

Side To(const CUDA_MEMCPY3D& c) {
  return SideOf(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight,
                c.dstXInBytes, c.dstY, c.dstZ);
}

bool IsHost(CUmemorytype type, CUdeviceptr address) {
  if (type != CU_MEMORYTYPE_UNIFIED) return type == CU_MEMORYTYPE_HOST;
  const auto found = FindAllocation(static_cast<std::uintptr_t>(address));
  return !found || found->is_host();
}

bool IsValidSide(CUmemorytype type, CUarray array, std::size_t pitch, const CUDA_MEMCPY3D& c,
                 std::size_t x) {
  if (type == CU_MEMORYTYPE_ARRAY) return array != nullptr;
  return (c.Height <= 1 && c.Depth <= 1) || pitch >= x + c.WidthInBytes || pitch == 0;
}

}  // namespace

CUDA_MEMCPY3D LinearCopy(const void* to, const void* from, std::size_t bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
  copy.srcPitch = copy.dstPitch = bytes;
  copy.srcHeight = copy.dstHeight = 1;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMCPY3D ToThreeDimensions(const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D copy = {};
  copy.srcXInBytes = c.srcXInBytes;
  copy.srcY = c.srcY;
  copy.srcMemoryType = c.srcMemoryType;
  copy.srcHost = c.srcHost;
  copy.srcDevice = c.srcDevice;
  copy.srcArray = c.srcArray;
  copy.srcPitch = c.srcPitch == 0 ? c.WidthInBytes : c.srcPitch;
  copy.dstXInBytes = c.dstXInBytes;
  copy.dstY = c.dstY;
  copy.dstMemoryType = c.dstMemoryType;
  copy.dstHost = c.dstHost;
  copy.dstDevice = c.dstDevice;
  copy.dstArray = c.dstArray;
  copy.dstPitch = c.dstPitch == 0 ? c.WidthInBytes : c.dstPitch;
  copy.WidthInBytes = c.WidthInBytes;
  copy.Height = c.Height;
  copy.Depth = 1;
  return copy;
}

bool IsValid(const CUDA_MEMCPY3D& c) {
  return IsValidSide(c.srcMemoryType, c.srcArray, c.srcPitch, c, c.srcXInBytes) &&
         IsValidSide(c.dstMemoryType, c.dstArray, c.dstPitch, c, c.dstXInBytes);
}

bool IsValid(const CUDA_MEMSET_NODE_PARAMS& f) {
  return (f.elementSize == 1 || f.elementSize == 2 || f.elementSize == 4) &&
         (f.height <= 1 || f.pitch >= f.width * f.elementSize);
}

void Perform(const CUDA_MEMCPY3D& c) {
  const Side from = From(c);
  const Side to = To(c);
  for (std::size_t z = 0; z < c.Depth; ++z) {
    for (std::size_t y = 0; y < c.Height; ++y) {
      std::memmove(to.first_row + z * to.slice_pitch + y * to.pitch,
                   from.first_row + z * from.slice_pitch + y * from.pitch, c.WidthInBytes);
    }
  }
}

void Perform(const CUDA_MEMSET_NODE_PARAMS& f) {
  for (std::size_t y = 0; y < std::max<std::size_t>(f.height, 1); ++y) {
    char* row = reinterpret_cast<char*>(f.dst) + y * f.pitch;
    if (f.elementSize == 1) {
      std::memset(row, static_cast<int>(f.value & 0xFF), f.width);
      continue;
    }
    for (std::size_t x = 0; x < f.width; ++x) {
      std::memcpy(row + x * f.elementSize, &f.value, f.elementSize);
    }
  }
}

std::uint64_t DurationNs(const CUDA_MEMCPY3D& c) {
  const bool crosses = IsHost(c.srcMemoryType, c.srcDevice) || IsHost(c.dstMemoryType, c.dstDevice);
  const std::uint64_t bytes = c.WidthInBytes * c.Height * c.Depth;
  return kFixedNs + bytes / (crosses ? kHostBytesPerNs : kDeviceBytesPerNs);
}

std::uint64_t DurationNs(const CUDA_MEMSET_NODE_PARAMS& f) {
  return kFixedNs +
         f.width * f.elementSize * std::max<std::size_t>(f.height, 1) / kDeviceBytesPerNs;
}

}  // namespace fake_gpu
