// Where the library of ONNX Runtime is, which dev/peers.sh installs from npm.
#pragma once

#include <filesystem>
#include <optional>

namespace lathe::lab {

/// The folder of the program that is running.
std::filesystem::path programDirectory();

/// libonnxruntime.so.1 for this processor inside the npm package onnxruntime-node, below
/// RUNNERS/onnxruntime/node_modules. RUNNERS is the first of these that has it: $LATHE_RUNNERS, share/lathe/runners of
/// the installation, lab/runners of the source tree.
std::optional<std::filesystem::path> onnxRuntimeLibrary();

} // namespace lathe::lab
