"""No library to compare with can break the configuration: missing, incomplete or with a configuration of its own that
fails, it is left out and the reason said.  usage: peers_test.py CMAKE-FOLDER C++-COMPILER"""
import os
import subprocess
import sys
import tempfile

modules, compiler = sys.argv[1:]


def configured(files):
    """CMake's messages for a project with only the peers, which are searched only in `files`."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"project/CMakeLists.txt": f"""
cmake_minimum_required(VERSION 3.25)
project(peers LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
include({modules}/LathePeers.cmake)
foreach(NAME onednn openblas eigen xnnpack)
  if(TARGET lathe_peer_${{NAME}})
    message(STATUS "has ${{NAME}}")
  endif()
endforeach()
""", **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", f"{root}/project", "-B", f"{root}/build", f"-DCMAKE_CXX_COMPILER={compiler}",
                               f"-DCMAKE_FIND_ROOT_PATH={root}/peers", "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY",
                               "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


said = configured({})
for package in ["libdnnl-dev", "libopenblas-dev", "libeigen3-dev", "libxnnpack-dev libpthreadpool-dev", "libopencv-dnn-dev"]:
    assert f"its program is left out (install {package};" in said, said

eigen = """#define EIGEN_VERSION_AT_LEAST(a, b, c) (%s)
namespace Eigen { struct MatrixXf { static MatrixXf Zero(int, int) { return {}; } float operator()(int, int) const { return 0; } }; }
"""
said = configured({
    "peers/usr/include/oneapi/dnnl/dnnl.hpp": "#include <CL/a_header_that_is_not_here.h>\n",
    "peers/usr/lib/libdnnl.so": "",
    "peers/usr/lib/cmake/dnnl/dnnl-config.cmake": "find_package(OpenCL REQUIRED)\nmessage(FATAL_ERROR broken)\n",
    "peers/usr/include/cblas.h": "void openblas_set_num_threads(int);\n",  # and no library
    "peers/usr/include/eigen3/Eigen/Core": eigen % "a * 100 + b * 10 + c <= 340",
    "peers/usr/share/eigen3/cmake/Eigen3Config.cmake": "message(FATAL_ERROR broken)\n",
})
assert "onednn: a program with oneapi/dnnl/dnnl.hpp does not build" in said, said
assert "openblas: libopenblas not found" in said, said
assert "xnnpack: xnnpack.h, pthreadpool.h, libXNNPACK, libpthreadpool not found" in said, said
assert "has eigen" in said, said
said = configured({"peers/usr/include/eigen3/Eigen/Core": eigen % "a * 100 + b * 10 + c <= 330"})
assert "eigen: a program with Eigen/Core does not build" in said, said
