# Build information that `stemtap --version` prints, as definitions for one source file.
set(STEMTAP_COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE _commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE _failed)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE _log ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT _failed)
    set(STEMTAP_COMMIT ${_commit})
  endif()
  if(EXISTS "${_log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_log})  # reconfigures after a commit
  endif()
endif()
set(STEMTAP_BUILD_KIND "${CMAKE_BUILD_TYPE}")
if(STEMTAP_DIST)
  string(PREPEND STEMTAP_BUILD_KIND "static ")
endif()
if(STEMTAP_SANITIZE)
  string(APPEND STEMTAP_BUILD_KIND ", sanitizers ${STEMTAP_SANITIZE}")
endif()
