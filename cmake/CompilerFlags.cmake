# Warnings and sanitizers for everything of ours. Optimisation levels come from the presets.
add_compile_options(-Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Warns about the standard library's own string concatenation (gcc.gnu.org PR 105651).
  add_compile_options(-Wno-restrict)
endif()
if(STEMTAP_WERROR)
  add_compile_options(-Werror)
endif()
if(STEMTAP_SANITIZE)
  # Undefined behaviour ends the program, as the other reports do; by default it is only printed.
  add_compile_options(-fsanitize=${STEMTAP_SANITIZE} -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STEMTAP_SANITIZE})
  # Checks of every pointer, which take a fifth of the time of a build, for what the address sanitizer
  # ends the program at anyway: null, and what lies behind an object. Fuzzers keep them.
  if(STEMTAP_SANITIZE STREQUAL "address,undefined")
    add_compile_options(-fno-sanitize=null,vptr,object-size)
  endif()
endif()

find_program(STEMTAP_CCACHE ccache)
if(STEMTAP_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${STEMTAP_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STEMTAP_CCACHE})
endif()
