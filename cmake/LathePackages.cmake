# Debian packages of the installed components, made by `make deb` (cpack): lathe-runtime, lathe-tools, lathe-dev.
set(LATHE_MAINTAINER "Lathe maintainers <maintainers@lathe.invalid>" CACHE STRING "Name and address in Debian packages")
set(LATHE_DEBIAN_REVISION 1)
set(LATHE_PACKAGED runtime=lathe-runtime compiler=lathe-tools development=lathe-dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lathe)
set(CPACK_PACKAGE_CONTACT "${LATHE_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS # whatever the umask is
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
# A release is built without debugging information: there is nothing to keep in packages of symbols.
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime compiler development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE lathe)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${LATHE_DEBIAN_REVISION})
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Libraries of others by dpkg-shlibdeps, our own packages in the same version.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENT_COMPILER_DEPENDS runtime)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# Packages with libraries in a folder of the loader.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_COMPILER_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/cmake/debian/triggers)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME lathe-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "runtime for compiled neural networks
Lathe compiles trained neural networks to packages of native code. This
package holds the library with a C interface that loads packages and runs
them, and the library of reference operators, which computes the operators
of a package that have no compiled code.

It needs neither the compiler nor LLVM.")
set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME lathe-tools)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPILER_PACKAGE_RECOMMENDS "bash-completion, man-db")
set(CPACK_DEBIAN_COMPILER_PACKAGE_SUGGESTS "lathe-dev, libpq5, nodejs") # libpq5 is loaded for a store on a server
set(CPACK_DEBIAN_COMPILER_DESCRIPTION "compiler and laboratory for neural networks
The command lathe reads ONNX, TensorFlow, TensorFlow Lite and Keras models,
compiles them through MLIR and LLVM to native packages, runs, profiles and
tunes them, checks them against a float64 reference, and compares them with
other runtimes.

The package holds the programs, the compiler's library, shipped tuning
records, manual pages, completions for bash and zsh, and the documentation.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME lathe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS lathe-tools)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libre2-dev, python3-numpy") # for liblathe_references.a and the Python modules
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "runtime for compiled neural networks - development files
Headers of the C interfaces of the runtime and of the compiler, a CMake
package, a pkg-config file, and the static libraries of the runtime and of
the reference operators.

Programs that compile models need the library of lathe-tools as well.")

# /usr/share/doc/PACKAGE: licence and changes, as Debian wants them.
find_program(GZIP gzip REQUIRED)
string(TIMESTAMP LATHE_CHANGED "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/debian)
configure_file(${CMAKE_SOURCE_DIR}/cmake/debian/changelog.in ${CMAKE_BINARY_DIR}/debian/changelog.Debian @ONLY)
execute_process(COMMAND ${GZIP} -9nc ${CMAKE_BINARY_DIR}/debian/changelog.Debian
  OUTPUT_FILE ${CMAKE_BINARY_DIR}/debian/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${GZIP} -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  OUTPUT_FILE ${CMAKE_BINARY_DIR}/debian/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
foreach(PAIR ${LATHE_PACKAGED})
  string(REGEX MATCH "(.*)=(.*)" PAIR ${PAIR})
  set(COMPONENT ${CMAKE_MATCH_1})
  set(PACKAGE ${CMAKE_MATCH_2})
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/debian/copyright ${CMAKE_BINARY_DIR}/debian/changelog.Debian.gz
    ${CMAKE_BINARY_DIR}/debian/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${PACKAGE} COMPONENT ${COMPONENT})
  if(EXISTS ${CMAKE_SOURCE_DIR}/cmake/debian/${PACKAGE}.lintian-overrides)
    install(FILES ${CMAKE_SOURCE_DIR}/cmake/debian/${PACKAGE}.lintian-overrides
      DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides COMPONENT ${COMPONENT} RENAME ${PACKAGE})
  endif()
endforeach()

include(CPack)
