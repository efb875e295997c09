# stemtap_unity(<target> SEPARATE a.cpp)
#
# With STEMTAP_UNITY_BUILD (the sanitizer presets), compiles several files of the target at a time, so that common
# headers are parsed once. Other builds compile each file separately, because in a unity build a call may bind to a
# helper of another file. SEPARATE lists files that define the same names as other files of the target.
option(STEMTAP_UNITY_BUILD "Compile several source files at a time" OFF)
function(stemtap_unity target)
  cmake_parse_arguments(UNITY "" "" "SEPARATE" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STEMTAP_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 6)
  set_source_files_properties(${UNITY_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# stemtap_module(<name> SOURCES a.cpp b.cpp USES base shm LINK PkgConfig::zstd)
#
# Adds the static library of one module of src/. USES names other modules, LINK external libraries.
# tools/check_layers defines which modules a module may use. A module without SOURCES is header-only.
function(stemtap_module name)
  cmake_parse_arguments(MODULE "" "" "SOURCES;USES;LINK" ${ARGN})
  list(TRANSFORM MODULE_USES PREPEND stemtap_)
  if(MODULE_SOURCES)
    add_library(stemtap_${name} STATIC ${MODULE_SOURCES})
    set(scope PUBLIC)
    # Mathematical code must not contain lossy implicit conversions.
    if(name MATCHES "^(stats|sampling)$")
      target_compile_options(stemtap_${name} PRIVATE -Wconversion)
    endif()
  else()
    add_library(stemtap_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(stemtap_${name} ${scope} ${PROJECT_SOURCE_DIR}/src
                                                      ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(stemtap_${name} ${scope} ${MODULE_USES} ${MODULE_LINK})
endfunction()

# stemtap_small(a.cpp ...)
#
# Release builds compile these files of the directory with -Os, because they are not performance-critical: the archive
# of tools/dist becomes smaller. Other builds do not, because a unity build leaves out files with own options.
function(stemtap_small)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -Os)
  endif()
endfunction()

# Tests that take a minute, in release builds or under sanitizers.
set(STEMTAP_LONG_TESTS extrapolation_test importers_test injector_fake_gpu_test ncu_filters_real_test
                       ncu_pages_real_test online_test session_test)

# stemtap_test(<name> SOURCES ... USES modules LINK libs LABELS unit)
#
# Adds one doctest executable and one CTest entry. The test runs in its own scratch directory. SEPARATE: see
# stemtap_unity.
function(stemtap_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;SEPARATE;USES;LINK;LABELS;DEPENDS" ${ARGN})
  list(TRANSFORM TEST_USES PREPEND stemtap_)
  add_executable(${name} ${TEST_SOURCES} $<TARGET_OBJECTS:stemtap_test_main>)
  stemtap_unity(${name} SEPARATE ${TEST_SEPARATE})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${TEST_USES} ${TEST_LINK} stemtap_test_support)
  # Half of the compiled code is tests, which do not have to be fast. -Og compiles them in about 70 % of the time
  # that -O1 takes, and the tests run equally fast. Without optimization they take four times as long under the
  # sanitizers.
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Og>)
  if(STEMTAP_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks of stack variables take a third of the time to compile a test. The modules keep them.
    target_compile_options(${name} PRIVATE --param=asan-stack=0)
  endif()
  # Tests initialize only the options that they need.
  target_compile_options(${name} PRIVATE -Wno-missing-field-initializers)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if("unit" IN_LIST TEST_LABELS AND NOT STEMTAP_BUILD_UNIT_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(TEST_DEPENDS)
    add_dependencies(${name} ${TEST_DEPENDS})
  endif()
  set(scratch ${CMAKE_BINARY_DIR}/scratch/${name})
  file(MAKE_DIRECTORY ${scratch})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${scratch})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}" TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp")
  # ctest starts the longest tests first, so that no core waits for one of them at the end.
  if(name IN_LIST STEMTAP_LONG_TESTS)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()
