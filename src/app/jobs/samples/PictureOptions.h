// The flags that say how a picture becomes an input of a model.
#pragma once

#include "evaluate/Picture.h"
#include "import/PictureNotes.h"
#include "jobs/Common.h"
#include "runtime/Model.h"

#include <optional>
#include <utility>

namespace lathe::jobs {

struct PictureOptions {
  std::string preprocess = "flags"; // "flags", or "model": as the file of the model states it
  std::string fit = "stretch";      // "stretch" or "crop"
  int64_t resize = 0; // length of the shorter side before the crop, in pixels; 0: that of the input's shorter side
  /// Range of pixels before mean and deviation: "0..1", "-1..1", "0..255", or "auto" (takeRange).
  std::string range = "auto";
  std::vector<double> mean, deviation; // one number for each channel, or one for all channels
  std::string channels = "rgb";        // "rgb" or "bgr"
  std::string layout = "auto";         // "auto", "nchw" or "nhwc"
  double inputScale = 0;               // scale of a quantised input; 0: the user gave none
  int64_t inputZeroPoint = 0;

  /// With --preprocess model: takes range, mean, deviation and order of channels from the file. Returns what the file
  /// states; without that flag nothing. Throws Error for a model that states nothing of pictures.
  PictureNotes takeFrom(const std::string &model);
  /// Returns the flags for another model that gets the same pictures, after takeFrom. With --preprocess model, these
  /// are the flags that the other model's own file states, if it states anything about pictures.
  PictureOptions forOther(const std::string &model) const;
  /// With --pixel-range auto, and neither --mean nor --std: if `port` of `model` is quantised with one scale and has 8
  /// bits, pixels become the real numbers that its elements stand for. The first such port decides. Call it for the
  /// inputs of all models before `of`, so that all get the same picture.
  void takeRange(const runtime::Port &port, const std::string &model);
  /// The real numbers for the pixel values 0 and 255, before mean and deviation are applied.
  std::pair<double, double> pixelRange() const;
  /// A line for the user: "pixels are 0 to 255, as input 'x' of model.tflite takes them" and a newline; "" if the range
  /// does not come from an input.
  std::string rangeText() const;
  /// How a picture becomes a value of the input `port` with extents `dims`: an integer input with a scale gets
  /// quantised real numbers. Throws Error if the input is not a picture.
  evaluate::Preprocessing of(const runtime::Port &port, const std::vector<int64_t> &dims) const;
  /// How a picture becomes a value of `port`, like the function with `dims`, with all symbols in the extents of `port`
  /// set to 1.
  evaluate::Preprocessing of(const runtime::Port &port) const;

private:
  std::optional<std::pair<double, double>> ofQuantised; // range of pixels that takeRange has found
  std::string decidedBy; // the input that takeRange found, such as "input 'x' of model.tflite"

  void apply(const PictureNotes &notes, const std::string &model);
  /// True if the range of pixels may come from a quantised input (takeRange).
  bool followsInputs() const { return range == "auto" && mean.empty() && deviation.empty(); }
};

} // namespace lathe::jobs
