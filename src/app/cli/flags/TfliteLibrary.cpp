#include "cli/flags/TfliteLibrary.h"

#include "lab/compare/Runner.h"

#include <cstdlib>
#include <filesystem>

namespace lathe::cli {

void addTfliteLibrary(Options &options, const std::function<void()> &given) {
  auto path = std::make_shared<std::string>();
  options
      .add_option(
          "--tflite-library", *path,
          "Run TFLite files with this native library of TensorFlow Lite's C API, libtensorflowlite_c.so, as the "
          "runtime tflite")
      ->type_name("FILE");
  options.afterParse([path, given] {
    if (path->empty())
      return;
    require(std::filesystem::is_regular_file(*path), "--tflite-library {}: no such file", *path);
    ::setenv(lab::tfliteLibraryVariable, std::filesystem::absolute(*path).c_str(), 1);
    if (given)
      given();
  });
}

} // namespace lathe::cli
