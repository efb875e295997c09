# Finds the directories that contain cupti.h and cuda.h: in CUPTI_ROOT, the CUDA toolkit, or an
# nvidia-cuda-cupti wheel (cuda.h is in the nvidia-cuda-runtime wheel next to it).
# Sets STEMTAP_HAVE_CUPTI and the interface target stemtap_cupti_headers.
set(CUPTI_ROOT "" CACHE PATH "Directory whose include/ contains cupti.h")
file(GLOB _cuda_roots /usr/local/cuda /usr/local/cuda-* $ENV{CUDA_HOME})
file(GLOB _wheel_roots
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cu1*
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cuda_cupti
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cuda_runtime)
set(_suffixes include extras/CUPTI/include targets/x86_64-linux/include)
find_path(CUPTI_INCLUDE_DIR cupti.h HINTS ${CUPTI_ROOT} ${_cuda_roots} ${_wheel_roots}
          PATH_SUFFIXES ${_suffixes})
find_path(CUDA_INCLUDE_DIR cuda.h HINTS ${CUPTI_ROOT} ${_cuda_roots} ${_wheel_roots}
          PATH_SUFFIXES ${_suffixes})

set(STEMTAP_HAVE_CUPTI OFF)
if(NOT STEMTAP_BUILD_INJECTOR)
  message(STATUS "stemtap: the injector is disabled (STEMTAP_BUILD_INJECTOR)")
elseif(STEMTAP_SANITIZE)
  # A preloaded library and a sanitizer both need to be loaded first (google/sanitizers#796).
  message(STATUS "stemtap: sanitizer build, without the injector and the simulated GPU")
elseif(CUPTI_INCLUDE_DIR AND CUDA_INCLUDE_DIR)
  set(STEMTAP_HAVE_CUPTI ON)
  add_library(stemtap_cupti_headers INTERFACE)
  target_include_directories(stemtap_cupti_headers SYSTEM INTERFACE ${CUPTI_INCLUDE_DIR}
                                                                    ${CUDA_INCLUDE_DIR})
  file(STRINGS ${CUPTI_INCLUDE_DIR}/cupti_version.h _version REGEX "#define CUPTI_API_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" STEMTAP_NEWEST_CUPTI "${_version}")
  message(STATUS "stemtap: CUPTI headers in ${CUPTI_INCLUDE_DIR}")
else()
  message(WARNING "stemtap: no CUPTI headers (cupti.h) found; building without the injector; to build it, set -DCUPTI_ROOT=<directory>")
endif()
