// Finds what dev/peers.sh installs from npm: the library of ONNX Runtime, the script that runs TensorFlow Lite.
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

/// Path of tflite/Runner.mjs in the first RUNNERS that has it with the npm package @tensorflow/tfjs-tflite beside it.
std::optional<std::filesystem::path> tfliteScript();

} // namespace lathe::lab
