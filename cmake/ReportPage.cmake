# Builds the page of `stemtap report` (report/, TypeScript) with Node.js and npm. Without them, or if npm
# fails (no network), everything else is still built, and `stemtap report` reports what is missing.
#
# stemtap_report_page(<target>) defines STEMTAP_REPORT_PAGE, which report/page_bytes.S of the target
# includes, and STEMTAP_HAVE_REPORT_PAGE.

include(CMakeDependentOption)
# Sanitizer builds do not need the page.
cmake_dependent_option(STEMTAP_BUILD_REPORT "Build the page of stemtap report (needs Node.js and npm)" ON
                       "NOT STEMTAP_SANITIZE" OFF)

# The minimum version for esbuild.
set(STEMTAP_NODE_MIN 18)
find_program(STEMTAP_NODE node NAMES node nodejs)
find_program(STEMTAP_NPM npm)

set(STEMTAP_REPORT_MISSING "")
if(NOT STEMTAP_BUILD_REPORT)
  set(STEMTAP_REPORT_MISSING "STEMTAP_BUILD_REPORT is off")
elseif(NOT EXISTS ${PROJECT_SOURCE_DIR}/report/package.json)
  set(STEMTAP_REPORT_MISSING "the directory report/ is missing")
elseif(NOT STEMTAP_NODE OR NOT STEMTAP_NPM)
  set(STEMTAP_REPORT_MISSING "no Node.js or npm (Debian: apt-get install nodejs npm)")
else()
  execute_process(COMMAND ${STEMTAP_NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  string(REGEX REPLACE "^v" "" version "${version}")
  if(NOT version VERSION_GREATER_EQUAL STEMTAP_NODE_MIN)
    set(STEMTAP_REPORT_MISSING "Node.js is ${version}; expected ${STEMTAP_NODE_MIN} or later")
  endif()
endif()
if(STEMTAP_REPORT_MISSING)
  message(STATUS "stemtap report: built without the page: ${STEMTAP_REPORT_MISSING}")
else()
  message(STATUS "stemtap report: the page is built with Node.js ${version}")
endif()

function(stemtap_report_page target)
  if(STEMTAP_REPORT_MISSING)
    return()
  endif()
  set(work ${CMAKE_BINARY_DIR}/report)
  set(page ${work}/page.html)
  # The bundler finds the files of the page.
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/report/*.json ${PROJECT_SOURCE_DIR}/report/*.mjs
       ${PROJECT_SOURCE_DIR}/report/.npmrc ${PROJECT_SOURCE_DIR}/report/NOTICE)
  file(GLOB_RECURSE more CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/report/src/*)
  set(script ${PROJECT_SOURCE_DIR}/cmake/build_report_page.cmake)
  # `built` exists only after a success, so the next build after a failure tries again. `page` always exists.
  add_custom_command(
    OUTPUT ${work}/built
    BYPRODUCTS ${page}
    COMMAND ${CMAKE_COMMAND} -DNPM=${STEMTAP_NPM} -DSOURCE=${PROJECT_SOURCE_DIR}/report -DWORK=${work}
            -DPAGE=${page} -P ${script}
    DEPENDS ${sources} ${more} ${script}
    COMMENT "Building the page of stemtap report"
    VERBATIM)
  set_source_files_properties(report/page_bytes.S PROPERTIES OBJECT_DEPENDS "${work}/built;${page}")
  target_sources(${target} PRIVATE report/page_bytes.S ${work}/built)
  target_compile_definitions(${target} PRIVATE STEMTAP_HAVE_REPORT_PAGE
                             $<$<COMPILE_LANGUAGE:ASM>:STEMTAP_REPORT_PAGE="${page}">)
endfunction()
