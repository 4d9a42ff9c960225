// The flag --tflite-library, which selects a native TensorFlow Lite instead of the WebAssembly build.
#pragma once

#include "cli/flags/Options.h"

#include <functional>

namespace lathe::cli {

/// Adds the flag --tflite-library. If the user gives it, the runner `tflite` of this process and of its child
/// processes uses the library, and `given` (may be empty) is called.
void addTfliteLibrary(Options &options, const std::function<void()> &given = {});

} // namespace lathe::cli
