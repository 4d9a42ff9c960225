// Finds the library of ONNX Runtime, which dev/peers.sh installs from npm.
#pragma once

#include <filesystem>
#include <optional>

namespace lathe::lab {

/// Folder of the running program.
std::filesystem::path programDirectory();

/// Path of libonnxruntime.so.1 for this processor in the npm package onnxruntime-node, below
/// RUNNERS/onnxruntime/node_modules. RUNNERS is the first of these folders that has it:
/// $LATHE_RUNNERS, share/lathe/runners of the installation, lab/runners of the source tree.
std::optional<std::filesystem::path> onnxRuntimeLibrary();

} // namespace lathe::lab
