# Writes the commit of the sources in SOURCE to FILE, with + behind it if the sources were changed; nothing where git does not
# know them.
execute_process(COMMAND git -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty=+
  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(BEFORE)
if(EXISTS ${FILE})
  file(READ ${FILE} BEFORE)
endif()
if(NOT BEFORE STREQUAL "${REVISION}\n")
  file(WRITE ${FILE} "${REVISION}\n")
endif()
