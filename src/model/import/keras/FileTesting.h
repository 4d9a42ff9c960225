// Test helper: Keras files that the scripts in import/keras/testing write.
#pragma once

#include "import/keras/Keras.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lathe::keras {

namespace fs = std::filesystem;

/// A temporary folder with the files that a script has written.
class ScriptFolder {
public:
  explicit ScriptFolder(const std::string &script, const std::string &arguments = "") {
    std::string name = (fs::temp_directory_path() / "lathe-keras-XXXXXX").string();
    path = ::mkdtemp(name.data());
    std::string command = fmt::format("/usr/bin/python3 -B {}/src/model/import/keras/testing/{} {} {}",
                                      LATHE_SOURCE_DIR, script, path.string(), arguments);
    failed = std::system(command.c_str()) != 0;
  }
  ~ScriptFolder() { fs::remove_all(path); }
  ScriptFolder(const ScriptFolder &) = delete;

  fs::path path;
  bool failed = false;
};

inline std::string contents(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline mlir::OwningOpRef<mlir::ModuleOp> imported(mlir::MLIRContext &context, const std::string &path,
                                                  const ImportOptions &options = {}) {
  return importModelOf(format(), context, contents(path), path, fs::path(path).parent_path(), options);
}

/// Imports a Keras file and evaluates it with the reference operators. Returns copies, because a result may be a
/// constant of the module.
inline std::vector<Tensor> evaluated(const std::string &path, const std::vector<Tensor> &inputs,
                                     const ImportOptions &options = {}) {
  auto context = makeContext();
  auto module = imported(*context, path, options);
  std::vector<lathe::Value> values(inputs.begin(), inputs.end());
  std::vector<Tensor> results;
  for (lathe::Value &result : evaluate(*module, values))
    results.push_back(result.tensor().clone());
  return results;
}

/// Imports a Keras file and returns the message of the error; "" if there is none.
inline std::string importError(const std::string &path, const ImportOptions &options = {}) {
  auto context = makeContext();
  try {
    imported(*context, path, options);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace lathe::keras
