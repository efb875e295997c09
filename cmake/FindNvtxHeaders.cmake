# Finds NVIDIA's NVTX headers, which only tests and benchmarks need: next to the CUDA headers or, if they are not there,
# in the wheel that nvtx_headers.txt lists, which is downloaded into the build directory.
# Sets the interface target stemtap_nvtx_headers. REQUIRES: FindCuptiHeaders has found the CUDA headers.
set(_remedy "install the NVTX headers of a CUDA toolkit, or build without tests and benchmarks with \
-DSTEMTAP_BUILD_TESTS=OFF -DSTEMTAP_BUILD_BENCH=OFF")
find_path(NVTX_INCLUDE_DIR nvtx3/nvtx3.hpp HINTS ${CUDA_INCLUDE_DIR} ${CUPTI_INCLUDE_DIR} NO_DEFAULT_PATH)
if(NOT NVTX_INCLUDE_DIR)
  _download_headers(${CMAKE_BINARY_DIR}/headers/nvtx nvtx_headers.txt nvtx3.hpp)
  find_path(NVTX_INCLUDE_DIR nvtx3/nvtx3.hpp HINTS ${CMAKE_BINARY_DIR}/headers/nvtx/nvidia/cu13/include NO_DEFAULT_PATH
            REQUIRED)
endif()
add_library(stemtap_nvtx_headers INTERFACE)
target_include_directories(stemtap_nvtx_headers SYSTEM INTERFACE ${NVTX_INCLUDE_DIR})
target_link_libraries(stemtap_nvtx_headers INTERFACE ${CMAKE_DL_LIBS})
message(STATUS "stemtap: NVTX headers in ${NVTX_INCLUDE_DIR}")
