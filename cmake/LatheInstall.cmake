# What `cmake --install` puts where, in four components: `runtime`, what programs that run packages need when they run;
# `development`, what they need when they are built; `compiler`, the commands, the compiler's library, data and pages;
# `peers`, providers and runners of other libraries. LathePackages.cmake makes Debian packages of the first three.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(LATHE_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lathe)
file(RELATIVE_PATH LATHE_PREFIX_FROM_CONFIG /${LATHE_CONFIG_DIR} /)
file(RELATIVE_PATH LATHE_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" LATHE_PREFIX_FROM_CONFIG "${LATHE_PREFIX_FROM_CONFIG}")
string(REGEX REPLACE "/$" "" LATHE_PREFIX_FROM_PC "${LATHE_PREFIX_FROM_PC}")
configure_file(${CMAKE_SOURCE_DIR}/cmake/latheConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/latheConfig.cmake @ONLY)
configure_file(${CMAKE_SOURCE_DIR}/cmake/lathe.pc.in ${CMAKE_BINARY_DIR}/cmake/lathe.pc @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/latheConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS lathe_runtime_shared lathe_runtime_static lathe_references_shared lathe_references_static
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(FILES ${CMAKE_SOURCE_DIR}/include/lathe/runtime.h ${CMAKE_SOURCE_DIR}/include/lathe/status.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/cmake/latheConfig.cmake ${CMAKE_BINARY_DIR}/cmake/latheConfigVersion.cmake
  DESTINATION ${LATHE_CONFIG_DIR} COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/cmake/lathe.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/lathe DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python COMPONENT development
  FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)

# The compiler, where it is built. Debian keeps MLIR where the system does not look. The verbs of the command are a library
# that no program links: it has a folder of its own.
if(TARGET lathe_cli_compiler)
  set_target_properties(lathe_cli_compiler PROPERTIES INSTALL_RPATH /usr/lib/llvm-19/lib)
  install(TARGETS lathe_cli_compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lathe COMPONENT compiler)
endif()
if(TARGET lathe_compiler_shared)
  set_target_properties(lathe_compiler_shared PROPERTIES INSTALL_RPATH "$ORIGIN;/usr/lib/llvm-19/lib")
  install(TARGETS lathe_compiler_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler NAMELINK_COMPONENT development)
  install(FILES ${CMAKE_SOURCE_DIR}/include/lathe/builder.h ${CMAKE_SOURCE_DIR}/include/lathe/builder.hpp
    ${CMAKE_SOURCE_DIR}/include/lathe/compiler.h ${LATHE_BUILDER_CPP}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe COMPONENT development)
  install(FILES ${CMAKE_SOURCE_DIR}/python/lathe_builder.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python COMPONENT development)
  install(FILES ${LATHE_BUILDER_PYTHON} DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python/lathe COMPONENT development)
endif()
# The program looks for its records, models and points of predictions beside its folder, installed or not (shippedFolder in jobs/Self.h).
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/lathe)
foreach(PART records models predictions)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/data/${PART} ${CMAKE_BINARY_DIR}/share/lathe/${PART} SYMBOLIC)
endforeach()
# The commit of the sources, which experiments record: written by every build, and no reason to link again.
add_custom_target(lathe_revision ALL
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DFILE=${CMAKE_BINARY_DIR}/share/lathe/revision
          -P ${CMAKE_SOURCE_DIR}/cmake/WriteRevision.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/share/lathe/revision VERBATIM)
if(TARGET lathe)
  add_dependencies(lathe lathe_revision)
endif()
if(TARGET lathe_cli_compiler)
  install(FILES ${CMAKE_BINARY_DIR}/share/lathe/revision DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe COMPONENT compiler OPTIONAL)
  install(TARGETS lathe lathe-serve RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/data/records ${CMAKE_SOURCE_DIR}/data/models ${CMAKE_SOURCE_DIR}/data/predictions
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe COMPONENT compiler
    FILES_MATCHING PATTERN *.jsonl PATTERN *.jsonl.gz)
endif()

# Completions of shells, manual pages (LatheManual.cmake) and the documentation.
if(TARGET lathe_cli_compiler)
  if(TARGET lathe_manual)
    install(FILES ${LATHE_SHARE}/bash-completion/completions/lathe
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT compiler)
    install(FILES ${LATHE_SHARE}/zsh/vendor-completions/_lathe
      DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT compiler)
    install(DIRECTORY ${LATHE_SHARE}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT compiler)
  endif()
  set(LATHE_DOC ${CMAKE_INSTALL_DATADIR}/doc/lathe-tools)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${LATHE_DOC} COMPONENT compiler
    FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.png PATTERN performance EXCLUDE)
  install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/src/laboratory/report/page/THIRD-PARTY-NOTICES.txt
    DESTINATION ${LATHE_DOC} COMPONENT compiler)
endif()
