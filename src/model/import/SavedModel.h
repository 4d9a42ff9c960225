// Recognises folders that hold a TensorFlow SavedModel.
#pragma once

#include <filesystem>
#include <string>

namespace lathe {

/// The file of the SavedModel in `folder`; "" if `folder` is not a folder or holds no SavedModel.
inline std::string savedModelFile(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"saved_model.pb", "saved_model.pbtxt"})
    if (std::filesystem::path file = std::filesystem::path(folder) / name; std::filesystem::exists(file, error))
      return file.string();
  return "";
}

} // namespace lathe
