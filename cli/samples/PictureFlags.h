// Flags that say how a picture becomes an input.
#pragma once

#include "cli/Common.h"
#include "evaluate/Picture.h"
#include "import/PictureNotes.h"
#include "runtime/Model.h"

namespace lathe::cli {

struct PictureFlags {
  std::string preprocess = "flags";    // or "model": as the file of the model states it
  std::string fit = "stretch";         // or "crop"
  int64_t resize = 0;                  // shorter side before the crop, in pixels; 0: the input's shorter side
  std::string range = "0..1";          // of pixels before mean and deviation: "0..1", "-1..1" or "0..255"
  std::vector<double> mean, deviation; // one a channel, or one in all
  std::string channels = "rgb";        // or "bgr"
  std::string layout = "auto";         // or "nchw", "nhwc"
  double inputScale = 0;               // of a quantised input; 0: not given
  int64_t inputZeroPoint = 0;

  void add(Options &options);
  /// With --preprocess model: takes range, mean, deviation and order of channels from the file. Returns what it states; without
  /// that flag nothing. Throws Error for a model that states nothing of pictures.
  PictureNotes takeFrom(const std::string &model);
  /// How a picture becomes input `port` of these extents. Throws Error if the input is no picture.
  evaluate::Preprocessing of(const runtime::Port &port, const std::vector<int64_t> &dims) const;
};

} // namespace lathe::cli
