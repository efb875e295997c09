# cpack runs this script on the installed files to follow Debian's conventions: it compresses the manual
# page without a timestamp, adds a copyright file, and moves the zsh completion, because Debian's zsh does
# not search site-functions.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/stemtap.1)
foreach(page ${pages})
  get_filename_component(share ${page}/../../.. ABSOLUTE)
  file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  execute_process(COMMAND gzip -9 -n ${page} COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE ${share}/doc/stemtap/copyright
       "Copyright (C) 2026 the stemtap authors\n"
       "License: Apache-2.0, on Debian in /usr/share/common-licenses/Apache-2.0\n")
  file(CHMOD ${share}/doc/stemtap/copyright
       PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
