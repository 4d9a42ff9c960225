# Writes the commit of the sources in SOURCE to FILE, with + behind it if the sources were changed; nothing where git does not
# know them. The ceiling: a repository around an unpacked archive of the sources is another one.
get_filename_component(ABOVE ${SOURCE} DIRECTORY)
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env GIT_CEILING_DIRECTORIES=${ABOVE}
          git -C ${SOURCE} describe --always --exclude=* --abbrev=12 --dirty=+
  OUTPUT_VARIABLE REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(BEFORE)
if(EXISTS ${FILE})
  file(READ ${FILE} BEFORE)
endif()
if(NOT BEFORE STREQUAL "${REVISION}\n")
  file(WRITE ${FILE} "${REVISION}\n")
endif()
