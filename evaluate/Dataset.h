// Pictures with their classes.
#pragma once

#include "evaluate/Picture.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe::evaluate {

struct LabelledPicture {
  std::string path;
  std::optional<size_t> label; // index of the class; nothing: unknown
};

/// Names of classes, one a line; line i is class i. Throws Error for an empty file.
std::vector<std::string> readLabels(const std::string &path);

/// Labels up to the first comma ("hotdog" of "hotdog, hot dog, red hot"), for tables and plots. Labels that begin alike stay
/// whole.
std::vector<std::string> shortNames(const std::vector<std::string> &labels);

/// The class that `text` names: a label, its first word (as in "n02124075 Egyptian cat"), or an index; nothing if there is
/// none. Upper and lower case are the same.
std::optional<size_t> classNamed(const std::string &text, const std::vector<std::string> &labels);

/// The pictures of a data set: a folder with a folder a class, a folder of pictures without classes, or a CSV file with the
/// columns file and class, whose paths are relative to its own folder. In order of their paths, or of the lines. Throws
/// Error with the place for what cannot be read and for unknown classes.
std::vector<LabelledPicture> readDataset(const std::string &path, const std::vector<std::string> &labels);

/// A random part of a picture, of at least half its sides, anywhere. `state` is the seed, then what the next crop starts
/// from; equal seeds give equal crops.
Picture randomlyCropped(const Picture &picture, uint64_t &state);

} // namespace lathe::evaluate
