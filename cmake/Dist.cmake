# Build settings of tools/dist: a static program, and libraries that load with glibc 2.17 or later.
if(STEMTAP_DIST)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

# Replaces the library of an imported target with an archive from STEMTAP_ARCHIVES. Headers and definitions do not
# change, so object files are the same as in other builds, and ccache shares them.
function(stemtap_use_archive target archive)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${STEMTAP_ARCHIVES}/${archive})
  else()
    foreach(config "" _NONE _RELEASE _RELWITHDEBINFO)
      set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION${config} ${STEMTAP_ARCHIVES}/${archive})
    endforeach()
  endif()
endfunction()

# Links an executable without shared libraries.
function(stemtap_static_program target)
  if(STEMTAP_DIST)
    # Not -static: its startup files register all frames with the stack unwinder, which sorts them at the first
    # exception.
    target_link_options(${target} PRIVATE -static-pie -Wl,--gc-sections -Wl,-z,pack-relative-relocs)
    set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)  # glibc rejects an rpath in a static program
  endif()
endfunction()

# Links a shared library, or a program that loads one, statically with the C++ runtime and against the glibc in
# STEMTAP_GLIBC_STUBS (packaging/glibc_stubs).
function(stemtap_portable target)
  if(STEMTAP_DIST)
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/packaging/glibc_compat.c)
    target_link_options(${target} PRIVATE -L${STEMTAP_GLIBC_STUBS} -static-libstdc++ -Wl,--gc-sections
                        -Wl,--exclude-libs,ALL -Wl,--no-as-needed -lpthread -ldl -Wl,--as-needed)
    # Keeps the path of the build directory out of the file, even before installation.
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
      # Since glibc 2.34, crt1.o relies on the C library to call constructors, which older C libraries do not do.
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/packaging/start.c)
      target_link_options(${target} PRIVATE -nostartfiles -no-pie
                          -Wl,--allow-shlib-undefined)  # libgcc_s uses newer symbols
    endif()
  endif()
endfunction()
