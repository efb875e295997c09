// SPDX-License-Identifier: Apache-2.0
//
// libcublas for the simulated GPU: handles, and one kernel per call for the products and the vector
// functions that PyTorch and llama.cpp use. Results are not computed. tools/real_programs adds
// stubs for the other functions.
//
// Types and values come from cublas_api.h, which is not part of the headers that the build
// downloads.
#include <cuda.h>

#include "gemm.h"

using cuda_libraries::Gemm;

#define CUBLAS_API extern "C" __attribute__((visibility("default")))

namespace {

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_EXECUTION_FAILED = 13 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };

struct Handle {
  CUstream stream = nullptr;
  int math_mode = 0;
  int pointer_mode = 0;
};

cublasStatus_t Status(CUresult result) {
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t Run(Handle* handle, Gemm gemm, int transposes_a, int transposes_b) {
  gemm.transposes_a = transposes_a != CUBLAS_OP_N;
  gemm.transposes_b = transposes_b != CUBLAS_OP_N;
  return Status(Launch(gemm, handle->stream));
}

// Launches a kernel that reads vectors of `n` elements, e.g. a dot product.
cublasStatus_t RunVector(Handle* handle, const char* name, int n) {
  const unsigned blocks =
      n <= 0 ? 1 : static_cast<unsigned>((static_cast<long long>(n) + 1023) / 1024);
  return Status(
      cuda_libraries::LaunchKernel(name, {.grid_x = blocks, .threads = 128}, handle->stream));
}

}  // namespace

CUBLAS_API cublasStatus_t cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasDestroy_v2(Handle* handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasGetVersion_v2(Handle*, int* version) {
  *version = 130100;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasSetStream_v2(Handle* handle, CUstream stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasGetStream_v2(Handle* handle, CUstream* stream) {
  *stream = handle->stream;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasSetWorkspace_v2(Handle*, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasSetSmCountTarget(Handle*, int) {
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasSetMathMode(Handle* handle, int mode) {
  handle->math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasGetMathMode(Handle* handle, int* mode) {
  *mode = handle->math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API cublasStatus_t cublasGetPointerMode_v2(Handle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

CUBLAS_API const char* cublasGetStatusString(int status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "simulated cuBLAS: not supported";
}

CUBLAS_API cublasStatus_t cublasGemmEx(Handle* handle, int ta, int tb, int m, int n, int k,
                                       const void*, const void*, cudaDataType type_a, int,
                                       const void*, cudaDataType, int, const void*, void*,
                                       cudaDataType type_c, int, int, int) {
  return Run(handle, {.a = type_a, .c = type_c, .m = m, .n = n, .k = k}, ta, tb);
}

CUBLAS_API cublasStatus_t cublasSgemmEx(Handle* handle, int ta, int tb, int m, int n, int k,
                                        const float*, const void*, cudaDataType type_a, int,
                                        const void*, cudaDataType, int, const float*, void*,
                                        cudaDataType type_c, int) {
  return Run(handle, {.a = type_a, .c = type_c, .m = m, .n = n, .k = k}, ta, tb);
}

CUBLAS_API cublasStatus_t cublasGemmStridedBatchedEx(Handle* handle, int ta, int tb, int m, int n,
                                                     int k, const void*, const void*,
                                                     cudaDataType type_a, int, long long,
                                                     const void*, cudaDataType, int, long long,
                                                     const void*, void*, cudaDataType type_c, int,
                                                     long long, int batch, int, int) {
  return Run(handle, {.a = type_a, .c = type_c, .m = m, .n = n, .k = k, .batch = batch}, ta, tb);
}

CUBLAS_API cublasStatus_t cublasGemmBatchedEx(Handle* handle, int ta, int tb, int m, int n, int k,
                                              const void*, const void* const*, cudaDataType type_a,
                                              int, const void* const*, cudaDataType, int,
                                              const void*, void* const*, cudaDataType type_c, int,
                                              int batch, int, int) {
  return Run(handle, {.a = type_a, .c = type_c, .m = m, .n = n, .k = k, .batch = batch}, ta, tb);
}

// The functions of one element type. Their scalar type does not matter here: all of them are passed
// by pointer.
#define GEMM_FUNCTIONS(letter, type)                                                              \
  CUBLAS_API cublasStatus_t cublas##letter##gemm_v2(Handle* handle, int ta, int tb, int m, int n, \
                                                    int k, const void*, const void*, int,         \
                                                    const void*, int, const void*, void*, int) {  \
    return Run(handle, {.a = type, .c = type, .m = m, .n = n, .k = k}, ta, tb);                   \
  }                                                                                               \
  CUBLAS_API cublasStatus_t cublas##letter##gemmStridedBatched(                                   \
      Handle* handle, int ta, int tb, int m, int n, int k, const void*, const void*, int,         \
      long long, const void*, int, long long, const void*, void*, int, long long, int batch) {    \
    return Run(handle, {.a = type, .c = type, .m = m, .n = n, .k = k, .batch = batch}, ta, tb);   \
  }                                                                                               \
  CUBLAS_API cublasStatus_t cublas##letter##gemmBatched(                                          \
      Handle* handle, int ta, int tb, int m, int n, int k, const void*, const void* const*, int,  \
      const void* const*, int, const void*, void* const*, int, int batch) {                       \
    return Run(handle, {.a = type, .c = type, .m = m, .n = n, .k = k, .batch = batch}, ta, tb);   \
  }                                                                                               \
  CUBLAS_API cublasStatus_t cublas##letter##gemv_v2(Handle* handle, int ta, int m, int n,         \
                                                    const void*, const void*, int, const void*,   \
                                                    int, const void*, void*, int) {               \
    const bool transposes = ta != CUBLAS_OP_N;                                                    \
    return Run(handle,                                                                            \
               {.a = type, .c = type, .m = transposes ? n : m, .n = 1, .k = transposes ? m : n},  \
               ta, 0);                                                                            \
  }

GEMM_FUNCTIONS(S, CUDA_R_32F)
GEMM_FUNCTIONS(D, CUDA_R_64F)
GEMM_FUNCTIONS(C, CUDA_C_32F)
GEMM_FUNCTIONS(Z, CUDA_C_64F)

CUBLAS_API cublasStatus_t cublasDotEx(Handle* handle, int n, const void*, cudaDataType, int,
                                      const void*, cudaDataType, int, void*, cudaDataType,
                                      cudaDataType) {
  return RunVector(handle, "sim_dot_kernel", n);
}

CUBLAS_API cublasStatus_t cublasSdot_v2(Handle* handle, int n, const float*, int, const float*, int,
                                        float*) {
  return RunVector(handle, "sim_dot_kernel_f32", n);
}

CUBLAS_API cublasStatus_t cublasDdot_v2(Handle* handle, int n, const double*, int, const double*,
                                        int, double*) {
  return RunVector(handle, "sim_dot_kernel_f64", n);
}

CUBLAS_API cublasStatus_t cublasStrsmBatched(Handle* handle, int, int, int, int, int m, int n,
                                             const float*, const float* const*, int, float* const*,
                                             int, int batch) {
  return Run(handle, {.m = m, .n = n, .k = m, .batch = batch}, 0, 0);
}
