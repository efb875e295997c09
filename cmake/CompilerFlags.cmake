# Warnings and sanitizers for all targets of stemtap. The presets set optimization levels.
add_compile_options(-Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False positives in the standard library's string concatenation (gcc.gnu.org PR 105651).
  add_compile_options(-Wno-restrict)
endif()
if(STEMTAP_WERROR)
  add_compile_options(-Werror)
endif()
if(STEMTAP_SANITIZE)
  # Undefined behavior ends the program, like other sanitizer reports. By default it is only printed.
  add_compile_options(-fsanitize=${STEMTAP_SANITIZE} -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STEMTAP_SANITIZE})
  # Checks of every pointer take a fifth of the build time. The address sanitizer also detects null
  # pointers and accesses past the end of an object. Fuzzers keep the checks.
  if(STEMTAP_SANITIZE STREQUAL "address,undefined")
    add_compile_options(-fno-sanitize=null,vptr,object-size)
  endif()
endif()

find_program(STEMTAP_CCACHE ccache)
if(STEMTAP_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${STEMTAP_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEMTAP_CCACHE})
endif()

# tools/dist removes the functions that a program does not use, which needs a section for each. All release builds
# have them, so that ccache shares the object files.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-ffunction-sections -fdata-sections)
endif()
