# Completions of shells and manual pages, made of what `lathe` says of its verbs and options (cli/flags/Describe.h). They
# lie in share/ of the build folder as in an installation: `lathe completion` finds them beside its folder.
set(LATHE_SHARE ${CMAKE_BINARY_DIR}/share)
set(LATHE_COMPLETIONS ${LATHE_SHARE}/bash-completion/completions/lathe ${LATHE_SHARE}/zsh/vendor-completions/_lathe)
set(LATHE_MANUAL ${LATHE_SHARE}/man/man1/lathe.1.gz)

# The date at the foot of the pages: the commit's, or today's.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%cs OUTPUT_VARIABLE LATHE_DATE
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT LATHE_DATE)
  string(TIMESTAMP LATHE_DATE %Y-%m-%d UTC)
endif()

if(NOT LATHE_SANITIZE) # a sanitizer's report of leaks at exit would end up in the descriptions
  set(DEV ${CMAKE_SOURCE_DIR}/dev)
  add_custom_command(OUTPUT ${LATHE_COMPLETIONS}
    COMMAND ${PYTHON3} -B ${DEV}/gen_completions.py $<TARGET_FILE:lathe> ${LATHE_SHARE}
    DEPENDS lathe lathe-serve lathe_cli_compiler ${DEV}/cli_description.py ${DEV}/gen_completions.py
            ${DEV}/completions/lathe.bash ${DEV}/completions/lathe.zsh
    COMMENT "verbs and options -> completions of bash and zsh" VERBATIM)
  add_custom_command(OUTPUT ${LATHE_MANUAL}
    COMMAND ${PYTHON3} -B ${DEV}/gen_manual.py $<TARGET_FILE:lathe> ${LATHE_SHARE} ${LATHE_DATE}
    DEPENDS lathe lathe-serve lathe_cli_compiler ${DEV}/cli_description.py ${DEV}/gen_manual.py
    COMMENT "verbs and options -> manual pages" VERBATIM)
  add_custom_target(lathe_manual ALL DEPENDS ${LATHE_COMPLETIONS} ${LATHE_MANUAL})
  if(TARGET wheel) # which installs them
    add_dependencies(wheel lathe_manual)
  endif()
endif()
