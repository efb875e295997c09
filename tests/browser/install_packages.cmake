# Installs the packages of the browser tests in WORK, once per package-lock.json. Without a network it
# prints SKIPPED, and the tests are skipped.
file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${WORK})
file(SHA256 ${WORK}/package-lock.json lock)
set(have "")
if(EXISTS ${WORK}/installed)
  file(READ ${WORK}/installed have)
endif()
if(have STREQUAL lock AND EXISTS ${WORK}/node_modules)
  return()
endif()
file(REMOVE ${WORK}/installed)
execute_process(COMMAND ${NPM} ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
                WORKING_DIRECTORY ${WORK} RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 240)
if(NOT result EQUAL 0)
  message("SKIPPED: npm ci failed (${result}); it needs network access once:\n${log}")
  return()
endif()
file(WRITE ${WORK}/installed ${lock})
