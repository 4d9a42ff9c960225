// Finds files that dev/peers.sh installs from npm: the library of ONNX Runtime, and scripts that run models.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lathe::lab {

/// The folder of the running program.
std::filesystem::path programDirectory();

/// Path of libonnxruntime.so.1 for this processor in the npm package onnxruntime-node, below
/// RUNNERS/onnxruntime/node_modules. RUNNERS is the first of these folders that has it:
/// $LATHE_RUNNERS, share/lathe/runners of the installation, lab/runners of the source tree.
std::optional<std::filesystem::path> onnxRuntimeLibrary();

/// Path of the runner script `script` ("tflite/Runner.mjs") in the first folder RUNNERS (see above) that has it,
/// beside the folder `needed` ("": none).
std::optional<std::filesystem::path> runnerScript(const std::string &script, const std::string &needed = "");

/// Message of the error that `runtime` is not installed: "ONNX Runtime is not installed: ", and how to install it.
std::string notInstalled(const std::string &runtime);

} // namespace lathe::lab
