// Which kernel calls a batch passes image by image: the predicted cycles of both orders, or their measured times, compared.
#pragma once

#include "support/MemoryLevels.h"

#include <cstdint>
#include <vector>

namespace lathe::runtime {

/// A kernel call that could be made for one image at a time.
struct ImageCall {
  double passing = 0; // bytes of one image that the call reads and writes, without constants
  double weights = 0; // bytes of constants that it reads for every image
  /// Measured seconds of all images in one call, and image by image, each time the call alone; 0: not measured.
  double callSeconds = 0, imagesSeconds = 0;

  bool isMeasured() const { return callSeconds > 0 && imagesSeconds > 0; }
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

  bool operator==(const Stretch &) const = default;
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

/// Returns the stretches that take the least measured time, given the `predicted` ones of imageStretches; of all divisions
/// into stretches, exactly the one that saves most by the rules below. Without times these are the predicted ones.
///
/// A time is of one call, measured alone: all its values stay near from image to image, and so do its weights. In a
/// stretch, a call saves only the share of its time for which this is so: the share of the bytes that pass through it whose
/// values are made and used up in the stretch. It loses whatever it loses alone. The level of memory that holds the weights
/// of the whole stretch beside an image must be no farther than the level that holds those of each call.
///
/// What differs from the predicted stretches counts `imageDoubt` more than it took, and a predicted stretch counts as if
/// all its values stayed near. It stays if one of its calls was not measured; no other stretch has such calls.
std::vector<Stretch> measuredStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                       const std::vector<Stretch> &predicted, const ImageCosts &costs);
/// As measuredDoubt of the layouts (passes/Pipeline.h).
inline constexpr double imageDoubt = 0.05;

} // namespace lathe::runtime
