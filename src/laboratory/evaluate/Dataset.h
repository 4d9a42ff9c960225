// Data sets for classifiers: pictures, or arrays, with their classes.
#pragma once

#include "evaluate/Picture.h"
#include "support/Npy.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::evaluate {

/// A sample of a data set: a picture, an .npy or .npz file, or a sample in an archive.
struct LabelledPicture {
  std::string path;
  std::optional<size_t> label; // index of the sample's class; nothing: unknown
  int64_t row = -1;            // position in the archive; -1: the sample is a separate file
};

/// The inputs of one sample, by name. The name "" stands for the only input.
using SampleArrays = std::vector<std::pair<std::string, Tensor>>;

struct SkippedFile {
  std::string path, reason;
};

struct Dataset {
  std::vector<LabelledPicture> pictures;
  std::vector<SkippedFile> skipped; // files that were left out, with the reason
  std::vector<NpzMember> archive;   // arrays with all samples along their first axis, without the array of classes

  /// True if the sample consists of arrays, which need no preprocessing, and is not a picture.
  bool isArrays(const LabelledPicture &sample) const;
  /// The arrays of a sample. Arrays from an archive keep a first axis of extent 1.
  SampleArrays arraysOf(const LabelledPicture &sample) const;
};

/// True for a name under which an archive has its array of classes: labels, label, classes, class, y or y_test.
bool isLabelName(const std::string &name);

/// Reads the names of classes from a file with one name per line; line i is class i. Throws Error for an empty file.
std::vector<std::string> readLabels(const std::string &path);

/// Shortens labels for tables and plots: up to the first comma ("hotdog" of "hotdog, hot dog, red hot"). Labels that
/// begin alike stay whole; equal labels get their index at the end.
std::vector<std::string> shortNames(const std::vector<std::string> &labels);

/// Reads a data set: a folder with a subfolder for each class, a folder of pictures without classes, or a CSV file with
/// the columns file and class, whose paths are relative to the CSV file's folder. Files .npy and .npz beside pictures
/// are samples. An .npz file as `path` is an archive: arrays with all samples along their first axis, and optionally
/// one array (isLabelName) with the index of each sample's class. A class is named by its label, the first word of the
/// label ("n02124075" of "n02124075 Egyptian cat") or its index, in upper or lower case. Pictures are in the order of
/// their paths, or of the lines. Names that begin with a dot are ignored. Throws Error with the place for files that
/// cannot be read, and for a class name that is unknown or ambiguous.
Dataset readDataset(const std::string &path, const std::vector<std::string> &labels);

/// Reads the list of samples in a CSV file of a data set, without their classes.
std::vector<LabelledPicture> listedSamples(const std::string &path);

/// Decodes every picture of a data set once, on several threads. Throws Error that names all unreadable pictures, or,
/// with `skips`, moves them to the skipped files. `progress` (may be empty) receives the number of decoded pictures,
/// in this thread.
void checkPictures(Dataset &data, bool skips, const std::function<void(size_t)> &progress);

/// Cuts a random part out of a picture, with at least half of its height and width. `state` is the seed and is advanced
/// for the next crop; equal seeds give equal crops.
Picture randomlyCropped(const Picture &picture, uint64_t &state);

} // namespace lathe::evaluate
