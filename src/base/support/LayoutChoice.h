// The layout of activations inside a network: chosen by `--layout`, recorded in packages.
#pragma once

#include <string>

namespace lathe {

enum class LayoutChoice {
  automatic,    // what is predicted or measured to be fastest
  planes,       // row-major: a plane for each channel (NCHW)
  channelsLast, // the channels of a position next to each other (NHWC), filled up to whole vectors
  blocked,      // channels in blocks of one vector
};

/// "auto", "nchw", "nhwc", "blocked"
inline std::string name(LayoutChoice layout) {
  return layout == LayoutChoice::planes         ? "nchw"
         : layout == LayoutChoice::channelsLast ? "nhwc"
         : layout == LayoutChoice::blocked      ? "blocked"
                                                : "auto";
}
/// Inverse of `name`. Every other text gives automatic; the command line has checked the text.
inline LayoutChoice layoutChoiceOf(const std::string &text) {
  for (LayoutChoice layout : {LayoutChoice::planes, LayoutChoice::channelsLast, LayoutChoice::blocked})
    if (name(layout) == text)
      return layout;
  return LayoutChoice::automatic;
}

} // namespace lathe
