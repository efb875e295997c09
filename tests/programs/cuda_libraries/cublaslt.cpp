// SPDX-License-Identifier: Apache-2.0
//
// libcublasLt for the simulated GPU: descriptors, one heuristic result for every product, and one
// kernel per product.
//
// Types and values come from cublasLt.h, which is not part of the headers that the build
// downloads.
#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "gemm.h"

using cuda_libraries::Gemm;

#define CUBLAS_API extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 7;
constexpr int kExecutionFailed = 13;

// cublasLtMatmulDescAttributes_t and cublasLtMatrixLayoutAttribute_t
constexpr int kTransposeA = 3;
constexpr int kTransposeB = 4;
constexpr int kRows = 2;
constexpr int kColumns = 3;
constexpr int kBatchCount = 5;

struct Product {
  std::int32_t transposes_a = 0, transposes_b = 0;
};

struct Layout {
  cudaDataType type = CUDA_R_32F;
  std::uint64_t rows = 0, columns = 0;
  std::int32_t batch = 1;
};

struct Algorithm {
  std::uint64_t data[8];
};

struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

// Copies an attribute's value; a shorter one fills the low bytes.
template <typename T>
void Set(T* field, const void* value, size_t bytes) {
  *field = 0;
  std::memcpy(field, value, std::min(bytes, sizeof *field));
}

}  // namespace

CUBLAS_API size_t cublasLtGetVersion() {
  return 130100;
}

CUBLAS_API size_t cublasLtGetCudartVersion() {
  return 13000;
}

CUBLAS_API int cublasLtMatmulDescCreate(Product** product, int, cudaDataType) {
  *product = new Product;
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulDescDestroy(Product* product) {
  delete product;
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulDescSetAttribute(Product* product, int attribute, const void* value,
                                              size_t bytes) {
  if (attribute == kTransposeA) Set(&product->transposes_a, value, bytes);
  if (attribute == kTransposeB) Set(&product->transposes_b, value, bytes);
  return kSuccess;
}

CUBLAS_API int cublasLtMatrixLayoutCreate(Layout** layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t) {
  *layout = new Layout{type, rows, columns};
  return kSuccess;
}

CUBLAS_API int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kSuccess;
}

CUBLAS_API int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value,
                                                size_t bytes) {
  if (attribute == kRows) Set(&layout->rows, value, bytes);
  if (attribute == kColumns) Set(&layout->columns, value, bytes);
  if (attribute == kBatchCount) Set(&layout->batch, value, bytes);
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new int(0);
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<int*>(preference);
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) {
  return kSuccess;
}

CUBLAS_API int cublasLtMatmulAlgoGetHeuristic(void*, const Product*, const Layout*, const Layout*,
                                              const Layout*, const Layout*, void*, int requested,
                                              HeuristicResult* results, int* returned) {
  if (requested < 1) return kInvalidValue;
  results[0] = {};
  results[0].waves = 1;
  *returned = 1;
  return kSuccess;
}

CUBLAS_API int cublasLtMatmul(void*, const Product* product, const void*, const void*,
                              const Layout* a, const void*, const Layout*, const void*, const void*,
                              const Layout*, void*, const Layout* d, const Algorithm*, void*,
                              size_t, CUstream stream) {
  const bool transposes_a = product->transposes_a != 0;
  const Gemm gemm = {.a = a->type,
                     .c = d->type,
                     .transposes_a = transposes_a,
                     .transposes_b = product->transposes_b != 0,
                     .m = static_cast<std::int64_t>(d->rows),
                     .n = static_cast<std::int64_t>(d->columns),
                     .k = static_cast<std::int64_t>(transposes_a ? a->rows : a->columns),
                     .batch = d->batch};
  return Launch(gemm, stream) == CUDA_SUCCESS ? kSuccess : kExecutionFailed;
}
