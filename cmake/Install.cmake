# Installs headers, the package for find_package(stemtap) and documents, and defines the Debian package.
# The files that build programs and libraries also install them.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stemtap)
install(DIRECTORY include/stemtap DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT stemtap NAMESPACE stemtap:: FILE stemtap-config.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stemtap-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/stemtap-config-version.cmake DESTINATION ${package_dir})
install(FILES README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Recordings (2 MB) stay in the repository: only tests and those who measure again read them.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN *.gz EXCLUDE PATTERN *.zst EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "stemtap")
set(CPACK_PACKAGE_CONTACT "The stemtap authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DESCRIPTION
    "stemtap starts a GPU program, learns how long every kernel takes, and\n\
decides while it runs which few launches represent the rest, with a stated\n\
error bound. The result is a plan for simulators, tracers and profilers.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # also adds the ldconfig call
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianFiles.cmake)
include(CPack)
