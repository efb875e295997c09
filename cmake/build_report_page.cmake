# Builds the page of `stemtap report` from a copy of report/, so that the source tree is not changed. Never
# fails: if the page cannot be built, PAGE is empty and the reason is printed.
#
#   cmake -DNPM=npm -DSOURCE=report -DWORK=DIR -DPAGE=DIR/page.html -P build_report_page.cmake
#
# WORK/built exists only after a success.

set(copy ${WORK}/source)
set(installed ${WORK}/installed)
file(REMOVE ${WORK}/built)

# Writes an empty page and prints the end of npm's output.
set(log "")
macro(give_up what)
  string(LENGTH "${log}" length)
  if(length GREATER 1500)
    math(EXPR cut "${length} - 1500")
    string(SUBSTRING "${log}" ${cut} -1 log)
  endif()
  message("stemtap report: built without the page: ${what}\n${log}\n"
          "Everything else is built. The next build tries again; -DSTEMTAP_BUILD_REPORT=OFF disables the page.")
  file(WRITE ${PAGE} "")
  return()
endmacro()

# Copies everything except packages again, so that files removed from report/ disappear here too.
file(GLOB old LIST_DIRECTORIES true ${copy}/*)
list(FILTER old EXCLUDE REGEX "/node_modules$")
if(old)
  file(REMOVE_RECURSE ${old})
endif()
file(COPY ${SOURCE}/ DESTINATION ${copy} PATTERN node_modules EXCLUDE PATTERN dist EXCLUDE PATTERN test EXCLUDE)

file(SHA256 ${copy}/package-lock.json lock)
set(have "")
if(EXISTS ${installed})
  file(READ ${installed} have)
endif()
if(NOT have STREQUAL lock OR NOT EXISTS ${copy}/node_modules)
  file(REMOVE ${installed})
  # Does not run scripts of packages: none are needed, and they are third-party code.
  execute_process(COMMAND ${NPM} ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
                  WORKING_DIRECTORY ${copy} RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 300)
  if(NOT result EQUAL 0)
    give_up("npm ci failed (${result}); it needs network access once")
  endif()
  file(WRITE ${installed} ${lock})
endif()

file(REMOVE_RECURSE ${WORK}/out)
execute_process(COMMAND ${CMAKE_COMMAND} -E env STEMTAP_REPORT_OUT=${WORK}/out ${NPM} run build --silent
                WORKING_DIRECTORY ${copy} RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 300)
if(NOT result EQUAL 0 OR NOT EXISTS ${WORK}/out/report.html)
  give_up("npm run build failed (${result})")
endif()
file(STRINGS ${WORK}/out/report.html places REGEX "@STEMTAP_DATA@")
list(LENGTH places count)
if(NOT count EQUAL 1)
  give_up("report.html has ${count} lines with @STEMTAP_DATA@; expected one")
endif()
file(COPY_FILE ${WORK}/out/report.html ${PAGE} ONLY_IF_DIFFERENT)
file(TOUCH ${WORK}/built)
