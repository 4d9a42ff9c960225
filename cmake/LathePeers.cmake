# Libraries that operators and models are compared with. Each one is optional: where it is missing or incomplete, its
# program is left out and the reason said, and nothing of it can make the configuration fail. So no library's own
# package configuration is run: Debian's oneDNN, for one, ends with an error where OpenCL's headers are missing, which
# are only recommended. Headers and libraries are looked for by name, and tried together.
include(CheckCXXSourceCompiles)

# lathe_find_peer(NAME HEADERS h... LIBRARIES l... SUFFIXES folders... PACKAGES debian... USE "expression")
#
# Defines the target lathe_peer_NAME where a program that includes the headers, in that order, and computes the expression
# compiles and links. Says which Debian packages are missing otherwise.
function(lathe_find_peer NAME)
  cmake_parse_arguments(PEER "" "USE" "HEADERS;LIBRARIES;SUFFIXES;PACKAGES" ${ARGN})
  set(INCLUDES "")
  set(LIBRARIES "")
  set(MISSING "")
  set(SOURCE "")
  foreach(HEADER ${PEER_HEADERS})
    string(MAKE_C_IDENTIFIER "LATHE_${NAME}_${HEADER}" FOUND)
    find_path(${FOUND} ${HEADER} PATH_SUFFIXES ${PEER_SUFFIXES})
    mark_as_advanced(${FOUND})
    if(${FOUND})
      list(APPEND INCLUDES ${${FOUND}})
    else()
      list(APPEND MISSING ${HEADER})
    endif()
    string(APPEND SOURCE "#include <${HEADER}>\n")
  endforeach()
  foreach(LIBRARY ${PEER_LIBRARIES})
    string(MAKE_C_IDENTIFIER "LATHE_${NAME}_lib_${LIBRARY}" FOUND)
    find_library(${FOUND} ${LIBRARY})
    mark_as_advanced(${FOUND})
    if(${FOUND})
      list(APPEND LIBRARIES ${${FOUND}})
    else()
      list(APPEND MISSING lib${LIBRARY})
    endif()
  endforeach()
  string(REPLACE ";" " " PACKAGES "${PEER_PACKAGES}")
  string(REPLACE ";" ", " MISSING "${MISSING}")
  if(MISSING)
    message(STATUS "${NAME}: ${MISSING} not found: its program is left out (install ${PACKAGES}; dev/setup.sh bench does)")
    return()
  endif()
  list(REMOVE_DUPLICATES INCLUDES)
  set(CMAKE_REQUIRED_INCLUDES ${INCLUDES})
  set(CMAKE_REQUIRED_LIBRARIES ${LIBRARIES} ${CMAKE_DL_LIBS})
  set(CMAKE_REQUIRED_QUIET TRUE)
  check_cxx_source_compiles("${SOURCE}int main() { (void)(${PEER_USE}); }" LATHE_${NAME}_WORKS)
  if(NOT LATHE_${NAME}_WORKS)
    message(STATUS "${NAME}: a program with ${PEER_HEADERS} does not build: its program is left out (see ${CMAKE_BINARY_DIR}/CMakeFiles; reinstall ${PACKAGES})")
    return()
  endif()
  add_library(lathe_peer_${NAME} INTERFACE IMPORTED GLOBAL)
  target_include_directories(lathe_peer_${NAME} SYSTEM INTERFACE ${INCLUDES})
  target_link_libraries(lathe_peer_${NAME} INTERFACE ${LIBRARIES} ${CMAKE_DL_LIBS})
endfunction()

lathe_find_peer(onednn HEADERS oneapi/dnnl/dnnl.hpp LIBRARIES dnnl PACKAGES libdnnl-dev
  USE "dnnl::engine::get_count(dnnl::engine::kind::cpu)")
lathe_find_peer(openblas HEADERS cblas.h LIBRARIES openblas PACKAGES libopenblas-dev
  SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread openblas
  USE "openblas_set_num_threads(1)")
lathe_find_peer(eigen HEADERS Eigen/Core SUFFIXES eigen3 PACKAGES libeigen3-dev
  USE "sizeof(char[EIGEN_VERSION_AT_LEAST(3, 4, 0) ? 1 : -1]), Eigen::MatrixXf::Zero(1, 1)(0, 0)")
lathe_find_peer(xnnpack HEADERS xnnpack.h pthreadpool.h LIBRARIES XNNPACK pthreadpool
  PACKAGES libxnnpack-dev libpthreadpool-dev
  USE "pthreadpool_destroy(pthreadpool_create(1)), xnn_initialize(nullptr)")
lathe_find_peer(opencv HEADERS opencv2/core.hpp opencv2/dnn.hpp LIBRARIES opencv_dnn opencv_core SUFFIXES opencv4
  PACKAGES libopencv-dnn-dev
  USE "cv::dnn::Net().empty()")
