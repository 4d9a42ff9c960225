# Compiler, linker and cache settings shared by every room.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Debian's loader, pkg-config and CMake look for libraries in lib/x86_64-linux-gnu of every prefix.
option(LATHE_MULTIARCH_LIBDIR "Install libraries where Debian keeps those of one architecture" ON)
if(LATHE_MULTIARCH_LIBDIR AND EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()

# Headers and templates are compiled once for ten sources: half of the time. The preset `single` does without, for clang-tidy,
# editors and the test that every source compiles by itself.
option(LATHE_UNITY "Compile the sources of a room ten at a time" ON)

set(LATHE_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
# Sources of tests are not optimised, to save compile time.
set(LATHE_TEST_FLAGS $<$<CONFIG:Release>:-O0>)
set(LATHE_TEST_DATA "${CMAKE_SOURCE_DIR}/../shared" CACHE PATH "Models, goldens, conformance cases and problem lists used by the tests")
set(LATHE_STAND_INS ${CMAKE_BINARY_DIR}/stand-ins) # what tests/stand_ins.py writes
if(NOT EXISTS "${LATHE_TEST_DATA}")
  message(STATUS "${LATHE_TEST_DATA} does not exist: tests read what tests/stand_ins.py writes")
  set(LATHE_TEST_DATA ${LATHE_STAND_INS})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Clang's precompiled headers need these to hit (ccache manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
# Programs have what they use of a room, and need the libraries of that, however many sources were compiled together.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
find_program(LLD ld.lld-19)
if(LLD)
  add_link_options(--ld-path=${LLD})
endif()
add_link_options(-Wl,--as-needed)
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize=vptr,function)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
  if(LATHE_SANITIZE MATCHES address)
    add_library(lathe_asan_options OBJECT cmake/AsanOptions.c)
    target_compile_options(lathe_asan_options PRIVATE -fno-sanitize=all) # also linked where nothing is sanitized
    link_libraries(lathe_asan_options)
  endif()
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(MLIR REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/mlir NO_DEFAULT_PATH)
# Debian's own Python: the one that has the packages of dev/packages.txt.
find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
find_program(MLIR_TBLGEN mlir-tblgen-19 PATHS /usr/lib/llvm-19/bin REQUIRED)
find_program(LLVM_TBLGEN llvm-tblgen-19 PATHS /usr/lib/llvm-19/bin REQUIRED)
