// The pictures that the verbs evaluate and sweep classify.
#pragma once

#include "evaluate/Dataset.h"
#include "jobs/Common.h"

namespace lathe::jobs {

/// The flags --data and --labels, and how pictures are drawn from the data.
struct DataOptions {
  std::string data, labels; // labels "": those that the model states, or no labels
  int64_t crops = 0;        // number of random crops in all; 0: whole pictures
  bool skipUnreadable = false;

  /// Returns the labels in the file of --labels; without the flag `stated`.
  std::vector<std::string> labelsOr(const std::vector<std::string> &stated) const;
  /// Reads the data set of --data and decodes every picture once; shows progress for `task`. `names` are the labels.
  /// Throws Error with the place.
  evaluate::Dataset read(const std::vector<std::string> &names, const std::string &task) const;
};

/// A line for the user about files that were skipped: "skipped 2 files: val/cat/a.gif (no .png, .jpg or .bmp file),
/// ..." and a newline; "" if none was.
std::string skippedText(const std::vector<evaluate::SkippedFile> &files);
nlohmann::json skippedJson(const std::vector<evaluate::SkippedFile> &files);

} // namespace lathe::jobs
