# Run by cpack on what it has installed: Debian wants manual pages compressed, without a time in them.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/stemtap.1)
foreach(page ${pages})
  execute_process(COMMAND gzip -9 -n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
