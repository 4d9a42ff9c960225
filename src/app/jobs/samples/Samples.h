// Samples for calibration and evaluation, from files, pictures or random numbers.
#pragma once

#include "jobs/samples/PictureOptions.h"
#include "runtime/Model.h"
#include "runtime/Tensor.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe::jobs {

struct SampleOptions {
  std::string path;  // folder, CSV file or .npz; "": random numbers
  int64_t most = 32; // samples at most
  int64_t crops = 0; // random crops of the pictures of the folder, in all; 0: whole pictures
  uint64_t seed = 0; // of random numbers and crops
  PictureOptions pictures;
  std::vector<std::string> shapes; // as ModelOptions::shapes
};

/// The inputs of each sample, one value a port. An .npz file has an array for every input, with all samples one after the
/// other along the first axis; classes beside them are passed over. A folder, its folders of classes, or the first column of a
/// CSV file have a sample a file: a picture or an .npy for a model with one input, an .npz for any. `progress` (may be empty) is called with the number of samples that were read and the number of all. `names` (may
/// be null) receives the file of each sample; it stays empty for random numbers. Throws Error with the file for what does
/// not fit the ports.
std::vector<std::vector<Value>> loadSamples(std::span<const runtime::Port> ports, const SampleOptions &flags,
                                            const std::function<void(size_t, size_t)> &progress,
                                            std::vector<std::string> *names = nullptr);

} // namespace lathe::jobs
