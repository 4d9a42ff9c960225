// --tflite-library: a native TensorFlow Lite in place of the WebAssembly build.
#pragma once

#include "cli/flags/Options.h"

#include <functional>

namespace lathe::cli {

/// Adds the flag. When it is given, the runner `tflite` of this process and of those that it starts uses the library, and
/// `given` (may be empty) is called.
void addTfliteLibrary(Options &options, const std::function<void()> &given = {});

} // namespace lathe::cli
