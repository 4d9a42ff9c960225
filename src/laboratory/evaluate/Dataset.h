// Pictures, or arrays, with their classes.
#pragma once

#include "evaluate/Picture.h"
#include "support/Npy.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lathe::evaluate {

/// A picture, an .npy or .npz file with a sample, or a sample of an archive.
struct LabelledPicture {
  std::string path;
  std::optional<size_t> label; // index of the class; nothing: unknown
  int64_t row = -1;            // position in the archive
};

/// Inputs of one sample by name; "": the only input.
using SampleArrays = std::vector<std::pair<std::string, Tensor>>;

struct SkippedFile {
  std::string path, reason;
};

struct Dataset {
  std::vector<LabelledPicture> pictures;
  std::vector<SkippedFile> skipped; // what lies beside the pictures and is not a picture
  std::vector<NpzMember> archive;   // arrays with all samples along their first axis, without the array of classes

  /// True for a sample of arrays, which nothing prepares.
  bool isArrays(const LabelledPicture &sample) const;
  /// The arrays of a sample; in an archive they keep a first axis of extent 1.
  SampleArrays arraysOf(const LabelledPicture &sample) const;
};

/// True for a name under which an archive has its array of classes: labels, label, classes, class, y or y_test.
bool isLabelName(const std::string &name);

/// Names of classes, one a line; line i is class i. Throws Error for an empty file.
std::vector<std::string> readLabels(const std::string &path);

/// Labels up to the first comma ("hotdog" of "hotdog, hot dog, red hot"), for tables and plots. Labels that begin alike stay
/// whole, and equal labels have their index behind them.
std::vector<std::string> shortNames(const std::vector<std::string> &labels);

/// The data set in a folder with a folder a class, in a folder of pictures without classes, or in a CSV file with the
/// columns file and class, whose paths are relative to its own folder. Beside pictures .npy and .npz files are samples. An
/// .npz file itself is an archive: arrays with all samples along their first axis, and one (isLabelName) with the index of
/// the class of each; without it the classes are unknown. A class is named by its label, the first word of the
/// label ("n02124075" of "n02124075 Egyptian cat") or its index, in upper or lower case. Pictures are in order of their paths,
/// or of the lines. Names that begin with a dot are passed over. Throws Error with the place for what cannot be read,
/// and for a class that is unknown or whose name several classes have.
Dataset readDataset(const std::string &path, const std::vector<std::string> &labels);

/// The samples that a CSV file lists, without their classes.
std::vector<LabelledPicture> listedSamples(const std::string &path);

/// Decodes every picture once, on several threads. Pictures that cannot be read are an Error that names all of them,
/// or, with `skips`, are moved to the skipped files. `progress` (may be empty) receives the number of pictures that
/// were decoded, in this thread.
void checkPictures(Dataset &data, bool skips, const std::function<void(size_t)> &progress);

/// A random part of a picture, of at least half its sides, anywhere. `state` is the seed, then what the next crop starts
/// from; equal seeds give equal crops.
Picture randomlyCropped(const Picture &picture, uint64_t &state);

} // namespace lathe::evaluate
