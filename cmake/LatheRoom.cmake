# The folders of the floors, from which `#include "ROOM/FILE.h"` is found.
set(LATHE_FLOORS base runtime model compiler laboratory app)
list(TRANSFORM LATHE_FLOORS PREPEND ${CMAKE_SOURCE_DIR}/src/ OUTPUT_VARIABLE LATHE_ROOTS)
set(LATHE_INCLUDES ${LATHE_ROOTS} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR})

# lathe_floor(FLOOR room...)
function(lathe_floor FLOOR)
  foreach(ROOM ${ARGN})
    add_subdirectory(${CMAKE_SOURCE_DIR}/src/${FLOOR}/${ROOM} ${ROOM})
  endforeach()
endfunction()

# Compiles the sources of a target ten at a time, unless the preset does without.
function(lathe_unity TARGET)
  if(LATHE_UNITY)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  endif()
endfunction()

# lathe_room(NAME [MLIR] SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
#
# One static library per room. MLIR marks rooms that include compiler headers: only they see LLVM's include
# path, so a `#include "mlir/..."` in any other room does not compile.
function(lathe_room NAME)
  cmake_parse_arguments(ROOM "MLIR" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${NAME} STATIC ${ROOM_SOURCES})
  lathe_unity(${NAME})
  target_include_directories(${NAME} PUBLIC ${LATHE_INCLUDES})
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

# lathe_test_pch(NAME PCH): the precompiled header of tests that has GoogleTest beside what PCH has.
function(lathe_test_pch NAME PCH)
  if(NOT BUILD_TESTING)
    return()
  endif()
  find_package(GTest REQUIRED)
  get_target_property(HEADERS ${PCH} PRECOMPILE_HEADERS)
  add_library(${NAME} OBJECT Pch.cpp)
  target_include_directories(${NAME} PRIVATE $<TARGET_PROPERTY:${PCH},INCLUDE_DIRECTORIES>)
  target_include_directories(${NAME} SYSTEM PRIVATE $<TARGET_PROPERTY:${PCH},INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
  target_link_libraries(${NAME} PRIVATE GTest::gtest GTest::gmock)
  target_compile_options(${NAME} PRIVATE ${LATHE_TEST_FLAGS})
  target_precompile_headers(${NAME} PRIVATE ${HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
  add_dependencies(${NAME} ${PCH})
endfunction()

# Compiler headers, the shared LLVM and MLIR libraries and a precompiled header, for a target.
function(lathe_use_mlir TARGET)
  set(PCH lathe_mlir_pch ${ARGN})
  list(GET PCH -1 PCH)
  target_include_directories(${TARGET} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${TARGET} PUBLIC MLIR LLVM)
  lathe_use_pch(${TARGET} ${PCH})
endfunction()

# Tests have caches and a store of their own: what somebody has measured or tuned on this machine changes no result of a
# test, and no test adds to it.
set(LATHE_TEST_ENVIRONMENT LATHE_NO_RECORDS=1 LATHE_NO_WAIT=1 XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/home/cache
  XDG_DATA_HOME=${CMAKE_BINARY_DIR}/home/data LATHE_TEST_FACTS=${CMAKE_BINARY_DIR}/home/machine/lathe/machine.json)
if(LATHE_TEST_DATA STREQUAL LATHE_STAND_INS) # the variable of the environment names a folder that does not exist
  list(APPEND LATHE_TEST_ENVIRONMENT LATHE_TEST_DATA=${LATHE_TEST_DATA})
endif()

# lathe_test_name(VARIABLE FILE [CASE]): tests are called after the file they are written in, from the floor or the top of the
# tree and without its extension, so that `ctest -R '^runtime/'` runs a room and `ctest -R families/MapTest` one file.
function(lathe_test_name VARIABLE FILE)
  cmake_path(ABSOLUTE_PATH FILE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  cmake_path(RELATIVE_PATH FILE BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE NAME)
  string(REGEX REPLACE "^src/[^/]*/" "" NAME ${NAME})
  cmake_path(REMOVE_EXTENSION NAME)
  list(JOIN ARGN / CASE)
  if(CASE)
    string(APPEND NAME /${CASE})
  endif()
  set(${VARIABLE} ${NAME} PARENT_SCOPE)
endfunction()

# lathe_script_test(FILE [CASE name] [SLOW] [SERIAL] [TIMEOUT seconds] [COMMAND ...] [ARGUMENTS ...]): a test without
# GoogleTest. Without a command FILE is run by Python. Exit code 77: skipped.
function(lathe_script_test FILE)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(T "SLOW;SERIAL" "CASE;TIMEOUT" "COMMAND;ARGUMENTS" ${ARGN})
  lathe_test_name(NAME ${FILE} ${T_CASE})
  if(NOT T_COMMAND)
    cmake_path(ABSOLUTE_PATH FILE BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(T_COMMAND ${PYTHON3} -B ${FILE})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  add_test(NAME ${NAME} COMMAND ${T_COMMAND} ${T_ARGUMENTS})
  set_tests_properties(${NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} SKIP_RETURN_CODE 77 ENVIRONMENT "${LATHE_TEST_ENVIRONMENT}")
  if(T_SLOW)
    set_tests_properties(${NAME} PROPERTIES LABELS slow)
  endif()
  if(T_SERIAL)
    set_tests_properties(${NAME} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# lathe_test(TARGET [MLIR] [SLOW] [NO_PCH] SOURCES ... LINK ...): a GoogleTest program registered with ctest under the name
# of its one source *Test.cpp; the target tests-ROOM builds the programs of a room.
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
    lathe_use_mlir(${NAME} lathe_mlir_test_pch)
  elseif(NOT T_NO_PCH)
    lathe_use_pch(${NAME} lathe_test_pch)
  endif()
  if(NOT T_NO_PCH)
    target_compile_options(${NAME} PRIVATE ${LATHE_TEST_FLAGS})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 600)
  endif()
  set(TESTS ${T_SOURCES})
  list(FILTER TESTS INCLUDE REGEX "Test\\.cpp$")
  list(LENGTH TESTS COUNT)
  if(NOT COUNT EQUAL 1)
    message(FATAL_ERROR "lathe_test(${NAME}): ${COUNT} sources are called *Test.cpp, expected one: ctest's name is its")
  endif()
  list(GET TESTS 0 FIRST)
  lathe_test_name(TEST ${FIRST})
  add_test(NAME ${TEST} COMMAND ${NAME})
  set_tests_properties(${TEST} PROPERTIES TIMEOUT ${T_TIMEOUT} ENVIRONMENT "${LATHE_TEST_ENVIRONMENT}")
  if(T_SLOW)
    set_tests_properties(${TEST} PROPERTIES LABELS slow)
  endif()
  string(REGEX REPLACE "/.*" "" ROOM ${TEST})
  if(NOT TARGET tests-${ROOM})
    add_custom_target(tests-${ROOM})
    if(LATHE_TEST_DATA STREQUAL LATHE_STAND_INS)
      add_dependencies(tests-${ROOM} stand-ins)
    endif()
  endif()
  add_dependencies(tests-${ROOM} ${NAME})
endfunction()

# lathe_sources_of(VARIABLE FILE room...): the absolute paths of the sources of rooms, for another compilation of them
# (another processor, another sanitizer); FILE, in the build folder, has one a line.
function(lathe_sources_of VARIABLE FILE)
  set(ALL)
  foreach(ROOM ${ARGN})
    get_target_property(SOURCES ${ROOM} SOURCES)
    get_target_property(DIRECTORY ${ROOM} SOURCE_DIR)
    foreach(SOURCE ${SOURCES})
      cmake_path(ABSOLUTE_PATH SOURCE BASE_DIRECTORY ${DIRECTORY})
      list(APPEND ALL ${SOURCE})
    endforeach()
  endforeach()
  list(FILTER ALL EXCLUDE REGEX "\\.h$")
  list(JOIN ALL "\n" LINES)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/${FILE} CONTENT "${LINES}\n")
  set(${VARIABLE} ${ALL} PARENT_SCOPE)
endfunction()

# lathe_kernel_image(OUTPUT NAME): hand-written kernels as codegen would emit them, a flat image without imports, from
# testing/NAME.c and testing/NAME.ld, which says the order of the kernels.
function(lathe_kernel_image OUTPUT NAME)
  add_custom_command(OUTPUT ${OUTPUT}
    COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables
            -I ${CMAKE_SOURCE_DIR}/src/runtime -c ${CMAKE_CURRENT_SOURCE_DIR}/testing/${NAME}.c -o ${OUTPUT}.o
    COMMAND ${LLD} -T ${CMAKE_CURRENT_SOURCE_DIR}/testing/${NAME}.ld --oformat=binary ${OUTPUT}.o -o ${OUTPUT}
    DEPENDS testing/${NAME}.c testing/${NAME}.ld ${CMAKE_SOURCE_DIR}/src/runtime/package/KernelAbi.h
    COMMENT "test kernels ${NAME}" VERBATIM)
endfunction()

# Defines LATHE_NO_OUTPUTS in SOURCE: operators of TensorFlow whose results are not outputs of a frozen graph even if
# nothing reads them, as string literals separated by commas; of "OP:1", result 1 and later ones are meant. Runners that
# are scripts read the list itself.
function(lathe_no_outputs SOURCE)
  set(LIST ${CMAKE_SOURCE_DIR}/src/laboratory/lab/runners/tensorflow/NoOutputs.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LIST})
  file(STRINGS ${LIST} NAMES)
  list(TRANSFORM NAMES REPLACE "(.+)" "\"\\1\"")
  list(JOIN NAMES "," NAMES)
  set_source_files_properties(${SOURCE} PROPERTIES COMPILE_DEFINITIONS "LATHE_NO_OUTPUTS=${NAMES}")
endfunction()
