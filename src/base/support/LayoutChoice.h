// The layout of activations inside a network: chosen by `--layout`, recorded in packages.
#pragma once

#include <string>

namespace lathe {

enum class LayoutChoice {
  automatic,    // the layout that is predicted or measured to be the fastest
  planes,       // row-major: a plane for each channel (NCHW)
  channelsLast, // the channels of a position lie next to each other (NHWC), filled up to whole vectors
  blocked,      // channels in blocks of one vector
};

/// Names of the layout choices, in the order of their numbers.
inline constexpr const char *layoutNames[] = {"auto", "nchw", "nhwc", "blocked"};
inline std::string name(LayoutChoice layout) { return layoutNames[static_cast<int>(layout)]; }
/// The layout choice with this name: the inverse of `name`. Every other text gives automatic; the command line has
/// checked the text.
inline LayoutChoice layoutChoiceOf(const std::string &text) {
  for (int i = 0; i < 4; ++i)
    if (layoutNames[i] == text)
      return static_cast<LayoutChoice>(i);
  return LayoutChoice::automatic;
}

} // namespace lathe
