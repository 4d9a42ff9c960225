// Which kernel calls a batch passes image by image: the predicted cycles of both orders, compared.
#pragma once

#include "support/MemoryLevels.h"

#include <cstdint>
#include <vector>

namespace lathe::runtime {

/// A kernel call that could be made for one image at a time.
struct ImageCall {
  double passing = 0; // bytes of one image that the call reads and writes, without constants
  double weights = 0; // bytes of constants that it reads for every image
};

/// A value that some of the calls write and read.
struct ImageValue {
  double bytes = 0;          // of one image
  size_t made = 0, last = 0; // the first call that writes it, the last call that uses it
  std::vector<size_t> uses;  // every call that reads or writes it
};

/// Consecutive calls [first, last).
struct Stretch {
  size_t first = 0, last = 0;
};

/// What the plan says about the machine.
struct ImageCosts {
  MemoryLevels levels;   // without levels nothing is gained
  double callCycles = 0; // start of a kernel
};

/// Returns the stretches of `calls`, in order, that cost fewer cycles if each of `threads` threads takes one image after
/// the other through the whole stretch than if all images pass call by call; of all divisions into stretches, the one
/// that saves most.
///
/// Both orders compute the same, so only waits differ (codegen/cost/Cost.h predicts them in the same way). Call by call,
/// a value comes back from the level that holds what the images of a thread pass through a call, and weights come back
/// from the level that holds them beside one image. Image by image, a value made and used up in the stretch comes back
/// from the level that holds what one image passes, weights from the level that holds all weights of the stretch, and
/// every call starts once an image.
std::vector<Stretch> imageStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                    int64_t images, int threads, const ImageCosts &costs);

} // namespace lathe::runtime
