// Samples for calibration and evaluation, from files, pictures or random numbers.
#pragma once

#include "cli/samples/PictureFlags.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe::cli {

struct SampleFlags {
  std::string path;  // folder, CSV file or .npz; "": random numbers
  int64_t most = 32; // largest number of samples
  int64_t crops = 0; // total number of random crops from the folder's pictures; 0: whole pictures
  uint64_t seed = 0; // seed of random numbers and crops
  PictureFlags pictures;
  std::vector<std::string> shapes; // ModelFlags::shapes
};

/// The inputs of each sample, one value per port. An .npz file has an array for every input, with all samples along the
/// first axis; arrays of classes are skipped. A folder, its folders of classes, or the first column of a CSV file have
/// one file per sample: a picture or an .npy for a model with one input, or an .npz for any model. `progress` (may be
/// empty) is called with the number of samples read and the total number. `names` (may be null) receives the file of
/// each sample; it stays empty for random numbers. Throws Error with the file for samples that do not fit the ports.
std::vector<std::vector<Value>> loadSamples(std::span<const runtime::Port> ports, const SampleFlags &flags,
                                            const std::function<void(size_t, size_t)> &progress,
                                            std::vector<std::string> *names = nullptr);

} // namespace lathe::cli
