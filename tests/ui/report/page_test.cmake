# Checks the types of the report page and runs its tests (report/test/*.test.ts) with the packages that are
# installed in WORK:
#
#   cmake -DNPM=npm -DSOURCE=. -DWORK=BUILD/report -P page_test.cmake
#
# If the page was not built, it prints SKIPPED.
set(copy ${WORK}/source)
if(NOT EXISTS ${WORK}/installed)
  message("SKIPPED: the page of stemtap report was not built")
  return()
endif()
file(REMOVE_RECURSE ${copy}/test)
file(COPY ${SOURCE}/report/test DESTINATION ${copy})
execute_process(COMMAND ${CMAKE_COMMAND} -E env STEMTAP_SOURCE=${SOURCE} ${NPM} run check --silent
                WORKING_DIRECTORY ${copy} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "npm run check failed (${result})")
endif()
