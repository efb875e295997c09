// SPDX-License-Identifier: Apache-2.0
//
// Memsets: cuMemset*. They take time on their stream and have no records.
#include "cuda/stream_work.h"

using namespace fake_gpu;

namespace {

CUDA_MEMSET_NODE_PARAMS Fill(CUdeviceptr to, std::size_t pitch, unsigned value,
                             unsigned element_bytes, std::size_t width, std::size_t height) {
  return {to, pitch, value, element_bytes, width, height};
}

}  // namespace

// Exports the four memsets of elements of a size: of a row or of a rectangle, at once or in a
// stream.
#define FAKE_GPU_FILL(bits, type)                                                               \
  FAKE_GPU_EXPORT CUresult cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count) {     \
    return RunNow(Fill(to, 0, value, bits / 8, count, 1));                                      \
  }                                                                                             \
  FAKE_GPU_EXPORT CUresult cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count,     \
                                                  CUstream stream) {                            \
    return Enqueue(stream, Fill(to, 0, value, bits / 8, count, 1));                             \
  }                                                                                             \
  FAKE_GPU_EXPORT CUresult cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value,     \
                                                  size_t width, size_t height) {                \
    return RunNow(Fill(to, pitch, value, bits / 8, width, height));                             \
  }                                                                                             \
  FAKE_GPU_EXPORT CUresult cuMemsetD2D##bits##Async(                                            \
      CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream) { \
    return Enqueue(stream, Fill(to, pitch, value, bits / 8, width, height));                    \
  }                                                                                             \
  FAKE_GPU_ALIAS("cuMemsetD" #bits, "cuMemsetD" #bits "_v2");                                   \
  FAKE_GPU_ALIAS("cuMemsetD" #bits "_v2_ptds", "cuMemsetD" #bits "_v2");                        \
  FAKE_GPU_ALIAS("cuMemsetD" #bits "Async_ptsz", "cuMemsetD" #bits "Async");                    \
  FAKE_GPU_ALIAS("cuMemsetD2D" #bits, "cuMemsetD2D" #bits "_v2");                               \
  FAKE_GPU_ALIAS("cuMemsetD2D" #bits "_v2_ptds", "cuMemsetD2D" #bits "_v2");                    \
  FAKE_GPU_ALIAS("cuMemsetD2D" #bits "Async_ptsz", "cuMemsetD2D" #bits "Async")

FAKE_GPU_FILL(8, unsigned char);
FAKE_GPU_FILL(16, unsigned short);
FAKE_GPU_FILL(32, unsigned);
