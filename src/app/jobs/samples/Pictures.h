// The pictures that `evaluate` and `sweep` classify.
#pragma once

#include "evaluate/Dataset.h"
#include "jobs/Common.h"

namespace lathe::jobs {

/// --data, --labels and how pictures are drawn from them.
struct DataOptions {
  std::string data, labels; // labels "": those that the model states, or none
  int64_t crops = 0;        // random crops in all; 0: whole pictures
  bool skipUnreadable = false;

  /// The labels of --labels, else `stated`.
  std::vector<std::string> labelsOr(const std::vector<std::string> &stated) const;
  /// Reads the data set and decodes every picture once; shows progress for `task`. `names` are the labels. Throws Error
  /// with the place.
  evaluate::Dataset read(const std::vector<std::string> &names, const std::string &task) const;
};

/// A line about left-out files: "skipped 2 files: val/cat/a.gif (no .png, .jpg or .bmp file), ..." and a newline; "" if
/// there are none.
std::string skippedText(const std::vector<evaluate::SkippedFile> &files);
nlohmann::json skippedJson(const std::vector<evaluate::SkippedFile> &files);

} // namespace lathe::jobs
