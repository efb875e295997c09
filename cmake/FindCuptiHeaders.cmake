# Finds the directories that contain cupti.h and cuda.h: in CUPTI_ROOT, a CUDA toolkit, or NVIDIA's wheels in an active
# virtual environment. If none has them, downloads the wheels that cuda_headers.txt lists into the build directory.
# Without headers, the configuration fails; -DSTEMTAP_BUILD_INJECTOR=OFF builds without the injected library.
# Sets STEMTAP_HAVE_CUPTI and the interface target stemtap_cupti_headers.
set(CUPTI_ROOT "" CACHE PATH "Directory whose include/ contains cupti.h and cuda.h")
set(STEMTAP_HAVE_CUPTI OFF)
if(NOT STEMTAP_BUILD_INJECTOR)
  message(STATUS "stemtap: the injector is disabled (STEMTAP_BUILD_INJECTOR)")
  return()
endif()
if(STEMTAP_SANITIZE)
  # A preloaded library and a sanitizer both need to be loaded first (google/sanitizers#796).
  message(STATUS "stemtap: sanitizer build, without the injector and the simulated GPU")
  return()
endif()

set(_remedy "install a CUDA toolkit, set -DCUPTI_ROOT=<directory>, or build without the injected library with \
-DSTEMTAP_BUILD_INJECTOR=OFF")

# Sets CUPTI_INCLUDE_DIR and CUDA_INCLUDE_DIR, if they are not set, to directories under the roots. The search starts
# with the roots. Arguments of find_path can follow, e.g. NO_DEFAULT_PATH.
macro(_find_headers roots)
  foreach(_variable_and_header CUPTI_INCLUDE_DIR:cupti.h CUDA_INCLUDE_DIR:cuda.h)
    string(REPLACE ":" ";" _pair ${_variable_and_header})
    list(GET _pair 0 _variable)
    list(GET _pair 1 _header)
    find_path(${_variable} ${_header} HINTS ${roots}
              PATH_SUFFIXES include extras/CUPTI/include targets/x86_64-linux/include ${ARGN})
  endforeach()
endmacro()

# Sets `result` to whether the headers can be included: wheels, for example, are installed one by one.
function(_check_headers result)
  set(_source ${CMAKE_BINARY_DIR}/headers/check.c)
  file(WRITE ${_source} "#include <cuda.h>\n#include <cudaProfiler.h>\n#include <cupti.h>\nint main(void) { return 0; }\n")
  try_compile(_compiles ${CMAKE_BINARY_DIR}/headers ${_source}
              CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${CUPTI_INCLUDE_DIR};${CUDA_INCLUDE_DIR}" OUTPUT_VARIABLE _output)
  string(REGEX MATCH "[^\n]*(error|No such file)[^\n]*" _error "${_output}")
  set(STEMTAP_HEADER_ERROR "${_error}" PARENT_SCOPE)
  set(${result} ${_compiles} PARENT_SCOPE)
endfunction()

# Downloads and unpacks the wheels of a list. `header` is one of its files. Fails with a message that names the cause.
function(_download_headers directory list header)
  set(_list ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${list})
  file(SHA256 ${_list} _wanted)
  set(_have "")
  if(EXISTS ${directory}/unpacked)
    file(READ ${directory}/unpacked _have)
  endif()
  if(_have STREQUAL _wanted)
    return()
  endif()
  find_program(STEMTAP_PIP NAMES pip3 pip)
  if(NOT STEMTAP_PIP)
    message(FATAL_ERROR "stemtap: no ${header} and no pip to download it; install pip (Debian: apt-get install \
python3-pip), ${_remedy}")
  endif()
  message(STATUS "stemtap: no ${header} in a CUDA toolkit; downloading it from NVIDIA's wheels")
  file(REMOVE_RECURSE ${directory})
  execute_process(
    COMMAND ${STEMTAP_PIP} download --quiet --disable-pip-version-check --no-input --retries 2 --timeout 20 --no-deps
            --require-hashes --only-binary=:all: --platform manylinux_2_17_x86_64 --platform manylinux_2_25_x86_64
            --platform manylinux2014_x86_64 --dest ${directory}/wheels --requirement ${_list}
    RESULT_VARIABLE _result OUTPUT_VARIABLE _log ERROR_VARIABLE _log TIMEOUT 600)
  if(NOT _result EQUAL 0)
    string(REGEX MATCHALL "ERROR: [^\n]*" _errors "${_log}")
    list(JOIN _errors "; " _errors)
    message(FATAL_ERROR "stemtap: no ${header}, and pip cannot download it (${_result}: ${_errors}); connect to the \
network, ${_remedy}")
  endif()
  file(GLOB _wheels ${directory}/wheels/*.whl)
  foreach(_wheel ${_wheels})
    file(ARCHIVE_EXTRACT INPUT ${_wheel} DESTINATION ${directory} PATTERNS "*/include/*" "*License*")
  endforeach()
  file(REMOVE_RECURSE ${directory}/wheels)
  file(WRITE ${directory}/unpacked ${_wanted})
endfunction()

if(CUPTI_ROOT)
  _find_headers("${CUPTI_ROOT}" NO_DEFAULT_PATH)
  if(NOT CUPTI_INCLUDE_DIR OR NOT CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "stemtap: ${CUPTI_ROOT}/include does not contain cupti.h and cuda.h (CUPTI_ROOT); ${_remedy}")
  endif()
endif()
file(GLOB _cuda_roots /usr/local/cuda /usr/local/cuda-* $ENV{CUDA_HOME})
file(GLOB _wheel_roots
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cu1*
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cuda_cupti
     $ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cuda_runtime)
_find_headers("${_cuda_roots};${_wheel_roots}")
set(_usable OFF)
if(CUPTI_INCLUDE_DIR AND CUDA_INCLUDE_DIR)
  _check_headers(_usable)
  if(NOT _usable AND CUPTI_ROOT)
    message(FATAL_ERROR "stemtap: the headers in ${CUPTI_ROOT} do not compile (${STEMTAP_HEADER_ERROR}); ${_remedy}")
  endif()
endif()
if(NOT _usable)
  if(STEMTAP_HEADER_ERROR)
    message(STATUS "stemtap: the headers in ${CUPTI_INCLUDE_DIR} do not compile (${STEMTAP_HEADER_ERROR})")
  endif()
  unset(CUPTI_INCLUDE_DIR CACHE)
  unset(CUDA_INCLUDE_DIR CACHE)
  _download_headers(${CMAKE_BINARY_DIR}/headers/wheels cuda_headers.txt cupti.h)
  _find_headers("${CMAKE_BINARY_DIR}/headers/wheels/nvidia/cu13" NO_DEFAULT_PATH)
  _check_headers(_usable)
  if(NOT _usable)
    message(FATAL_ERROR "stemtap: the downloaded CUDA headers do not compile (${STEMTAP_HEADER_ERROR}); ${_remedy}")
  endif()
endif()

set(STEMTAP_HAVE_CUPTI ON)
add_library(stemtap_cupti_headers INTERFACE)
target_include_directories(stemtap_cupti_headers SYSTEM INTERFACE ${CUPTI_INCLUDE_DIR} ${CUDA_INCLUDE_DIR})
file(STRINGS ${CUPTI_INCLUDE_DIR}/cupti_version.h _version REGEX "#define CUPTI_API_VERSION ")
string(REGEX REPLACE "[^0-9]" "" STEMTAP_NEWEST_CUPTI "${_version}")
message(STATUS "stemtap: CUPTI headers in ${CUPTI_INCLUDE_DIR}")
