# lathe_room(NAME [MLIR] SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
#
# One static library per room. MLIR marks rooms that include compiler headers: only they see LLVM's include
# path, so a `#include "mlir/..."` in any other room does not compile.
function(lathe_room NAME)
  cmake_parse_arguments(ROOM "MLIR" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${NAME} STATIC ${ROOM_SOURCES})
  target_include_directories(${NAME} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR})
  target_link_libraries(${NAME} PUBLIC ${ROOM_PUBLIC} PRIVATE ${ROOM_PRIVATE})
  if(ROOM_MLIR)
    lathe_use_mlir(${NAME})
  else()
    lathe_use_pch(${NAME} lathe_pch)
  endif()
endfunction()

# A precompiled header for a target that compiles with the common flags.
function(lathe_use_pch TARGET PCH)
  get_target_property(KIND ${TARGET} TYPE)
  if(KIND STREQUAL "EXECUTABLE") # compiled as the header is (-fPIC), or clang refuses it
    set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${TARGET} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${TARGET} REUSE_FROM ${PCH})
endfunction()

# Compiler headers, the shared LLVM and MLIR libraries and the one precompiled header, for a target.
function(lathe_use_mlir TARGET)
  target_include_directories(${TARGET} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${TARGET} PUBLIC MLIR LLVM)
  lathe_use_pch(${TARGET} lathe_mlir_pch)
endfunction()

# lathe_test(NAME [MLIR] [SLOW] [NO_PCH] SOURCES ... LINK ...): a GoogleTest program registered with ctest.
# NO_PCH: it has compiler flags of its own.
# SLOW tests carry the label `slow`: `make test` leaves them out, `make test-all` runs them.
function(lathe_test NAME)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(T "MLIR;SLOW;NO_PCH" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${NAME} ${T_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${T_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE LATHE_TEST_DATA="${LATHE_TEST_DATA}" LATHE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    LATHE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(T_MLIR)
    lathe_use_mlir(${NAME})
  elseif(NOT T_NO_PCH)
    lathe_use_pch(${NAME} lathe_pch)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 600)
  endif()
  add_test(NAME ${NAME} COMMAND ${NAME})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${T_TIMEOUT})
  if(T_SLOW)
    set_tests_properties(${NAME} PROPERTIES LABELS slow)
  endif()
endfunction()
