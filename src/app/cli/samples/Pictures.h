// The pictures that `evaluate` and `sweep` classify.
#pragma once

#include "cli/Common.h"
#include "evaluate/Dataset.h"

namespace lathe::cli {

/// The flags --data and --labels, and flags that select pictures from the data.
struct DataFlags {
  std::string data, labels; // `labels`: file with names of the classes; "": those that the model states, or none
  int64_t crops = 0;        // total number of random crops; 0: whole pictures
  bool skipUnreadable = false;

  void add(Options &options, const std::string &dataHelp);
  /// The labels in the file of --labels; without the flag, `stated`.
  std::vector<std::string> labelsOr(const std::vector<std::string> &stated) const;
  /// Reads the data set and decodes every picture once; shows progress for `task`. `names` are the labels. Throws Error
  /// with the place.
  evaluate::Dataset read(const std::vector<std::string> &names, const std::string &task) const;
};

/// A line about left-out files: "skipped 2 files: val/cat/a.gif (no .png, .jpg or .bmp file), ..." and a newline; "" if
/// there are none.
std::string skippedText(const std::vector<evaluate::SkippedFile> &files);
nlohmann::json skippedJson(const std::vector<evaluate::SkippedFile> &files);

} // namespace lathe::cli
