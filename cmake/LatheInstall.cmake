# What `cmake --install` puts where. Component `runtime`: everything a program that runs packages needs.
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
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/include/lathe/runtime.h ${CMAKE_SOURCE_DIR}/include/lathe/status.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe COMPONENT runtime)
install(FILES ${CMAKE_BINARY_DIR}/cmake/latheConfig.cmake ${CMAKE_BINARY_DIR}/cmake/latheConfigVersion.cmake
  DESTINATION ${LATHE_CONFIG_DIR} COMPONENT runtime)
install(FILES ${CMAKE_BINARY_DIR}/cmake/lathe.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/lathe DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python COMPONENT runtime
  FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN __pycache__ EXCLUDE)

# Component `compiler`: the library and the command, where they are built. Debian keeps MLIR where the system does not look.
foreach(NAME lathe_compiler_shared lathe_cli_compiler)
  if(TARGET ${NAME})
    set_target_properties(${NAME} PROPERTIES INSTALL_RPATH "$ORIGIN;/usr/lib/llvm-19/lib")
    install(TARGETS ${NAME}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler NAMELINK_COMPONENT compiler)
  endif()
endforeach()
if(TARGET lathe_compiler_shared)
  install(FILES ${CMAKE_SOURCE_DIR}/include/lathe/builder.h ${CMAKE_SOURCE_DIR}/include/lathe/builder.hpp
    ${CMAKE_SOURCE_DIR}/include/lathe/compiler.h ${LATHE_BUILDER_CPP}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lathe COMPONENT compiler)
  install(FILES ${CMAKE_SOURCE_DIR}/python/lathe_builder.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python COMPONENT compiler)
  install(FILES ${LATHE_BUILDER_PYTHON} DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe/python/lathe COMPONENT compiler)
endif()
# The program looks for its records and models beside its folder, installed or not (shippedFolder in cli/Self.h).
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/lathe)
foreach(PART records models)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/data/${PART} ${CMAKE_BINARY_DIR}/share/lathe/${PART} SYMBOLIC)
endforeach()
if(TARGET lathe_cli_compiler)
  install(TARGETS lathe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT compiler)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/data/records ${CMAKE_SOURCE_DIR}/data/models
    DESTINATION ${CMAKE_INSTALL_DATADIR}/lathe COMPONENT compiler
    FILES_MATCHING PATTERN *.jsonl PATTERN *.jsonl.gz)
endif()
