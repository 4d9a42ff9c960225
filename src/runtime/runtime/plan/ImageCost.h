// Decides which kernel calls run image by image and which run for all images of a batch at once, from the predicted
// cycles or the measured times of both orders.
#pragma once

#include "support/MemoryLevels.h"

#include <cstdint>
#include <vector>

namespace lathe::runtime {

/// Costs of a kernel call that could be made for one image at a time.
struct ImageCall {
  double passing = 0; // bytes of one image that the call reads and writes, without constants
  double weights = 0; // bytes of constants that the call reads for every image
  /// Measured seconds of the call alone: for all images at once, and image by image. 0: not measured.
  double callSeconds = 0, imagesSeconds = 0;

  bool isMeasured() const { return callSeconds > 0 && imagesSeconds > 0; }
};

/// A value that some of the kernel calls write or read.
struct ImageValue {
  double bytes = 0;          // size of the part that belongs to one image
  size_t made = 0, last = 0; // made: index of the first call that writes it; last: of the last call that uses it
  std::vector<size_t> uses;  // indices of all calls that read or write the value
};

/// A stretch of consecutive kernel calls, [first, last), that runs image by image.
struct Stretch {
  size_t first = 0, last = 0;

  bool operator==(const Stretch &) const = default;
};

/// Costs of the machine, as the plan states them.
struct ImageCosts {
  MemoryLevels levels;   // memory levels from the view of one core; empty: no stretch is predicted to save time
  double callCycles = 0; // cycles to start a kernel
};

/// Divides `calls` into stretches so that the predicted cycles saved are greatest, and returns the stretches in order.
/// Inside a stretch, each of `threads` threads takes one image after the other through all calls; outside, all images
/// pass call by call.
///
/// Both orders compute the same, so only waits for memory differ (codegen/cost/Cost.h predicts them in the same way).
/// Call by call, a value is read from the level that holds the data of a thread's images in one call, and weights from
/// the level that holds them and one image. Image by image, a value made and used up in the stretch is read from the
/// level that holds the data of one image, weights from the level that holds all weights of the stretch, and every call
/// starts once for each image.
std::vector<Stretch> imageStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                    int64_t images, int threads, const ImageCosts &costs);

/// Returns the stretches with the least measured time, by the rules below, over all divisions into stretches.
/// `predicted` are the stretches of imageStretches; without measured times they are returned unchanged.
///
/// Each measured time is of one call alone, whose values and weights stay in near caches from image to image. Inside a
/// stretch, this holds only for values that are made and used up there: a call saves its measured gain times their
/// share of the bytes that it passes. If the call alone is slower image by image, the whole loss counts. The memory
/// level that holds the weights of the whole stretch and an image must be no farther than the level for the weights of
/// each call.
///
/// The time of the order that was not predicted counts `1 + imageDoubt` times. A predicted stretch counts as if all its
/// values stayed near. It stays if one of its calls was not measured; no other stretch may have such calls.
std::vector<Stretch> measuredStretches(const std::vector<ImageCall> &calls, const std::vector<ImageValue> &values,
                                       const std::vector<Stretch> &predicted, const ImageCosts &costs);
/// Share by which the measured time of the order that was not predicted is increased, because repeated measurements
/// differ. The choice of layouts uses the same share (measuredDoubt of passes/Pipeline.h).
inline constexpr double imageDoubt = 0.05;

} // namespace lathe::runtime
