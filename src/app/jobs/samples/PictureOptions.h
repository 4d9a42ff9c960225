// Flags that say how a picture becomes an input.
#pragma once

#include "evaluate/Picture.h"
#include "import/PictureNotes.h"
#include "jobs/Common.h"
#include "runtime/Model.h"

#include <optional>
#include <utility>

namespace lathe::jobs {

struct PictureOptions {
  std::string preprocess = "flags"; // or "model": as the file of the model states it
  std::string fit = "stretch";      // or "crop"
  int64_t resize = 0;               // shorter side before the crop, in pixels; 0: the input's shorter side
  std::string range = "auto";       // of pixels before mean and deviation: "0..1", "-1..1", "0..255", or see takeRange
  std::vector<double> mean, deviation; // one a channel, or one in all
  std::string channels = "rgb";        // or "bgr"
  std::string layout = "auto";         // or "nchw", "nhwc"
  double inputScale = 0;               // of a quantised input; 0: not given
  int64_t inputZeroPoint = 0;

  /// With --preprocess model: takes range, mean, deviation and order of channels from the file. Returns what it states; without
  /// that flag nothing. Throws Error for a model that states nothing of pictures.
  PictureNotes takeFrom(const std::string &model);
  /// The flags for another model that gets the same pictures, after takeFrom: with --preprocess model what its own file
  /// states, if it states anything of pictures.
  PictureOptions forOther(const std::string &model) const;
  /// With --pixel-range auto, and neither --mean nor --std: if `port` of `model` is quantised with one scale and has 8 bits,
  /// pixels are the real numbers that its elements stand for. The first such port decides. Call it for the inputs of all
  /// models before `of`, so that all get the same picture.
  void takeRange(const runtime::Port &port, const std::string &model);
  /// What the pixels 0 and 255 become before mean and deviation.
  std::pair<double, double> pixelRange() const;
  /// "pixels are 0 to 255, as input 'x' of model.tflite takes them" and a newline; "" if no input decided.
  std::string rangeText() const;
  /// How a picture becomes input `port` of these extents: an integer input that has a scale gets the quantised real numbers.
  /// Throws Error if the input is no picture.
  evaluate::Preprocessing of(const runtime::Port &port, const std::vector<int64_t> &dims) const;
  /// Of the extents in which symbols are 1.
  evaluate::Preprocessing of(const runtime::Port &port) const;

private:
  std::optional<std::pair<double, double>> ofQuantised; // see takeRange
  std::string decidedBy;                                // "input 'x' of model.tflite"

  void apply(const PictureNotes &notes, const std::string &model);
  /// True if the range is that of a quantised input.
  bool followsInputs() const { return range == "auto" && mean.empty() && deviation.empty(); }
};

} // namespace lathe::jobs
