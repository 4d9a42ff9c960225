// U-Net: a contracting path of convolutions and poolings, and an expanding path of transposed convolutions, joined
// level by level.
//
// Like newer implementations, it has "same" padding, so that nothing is cropped, and batch normalisation.
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {

Signal twice(Network &n, Signal x, int64_t channels, const std::string &name) {
  x = n.unit(x, channels, ConvOptions::square(3), Activation::relu, name + ".1");
  return n.unit(x, channels, ConvOptions::square(3), Activation::relu, name + ".2");
}

} // namespace

Signal unet(Network &n) {
  const int64_t classes = 2;
  std::vector<Signal> levels{twice(n, n.input({3, 128, 128}), 64, "down0")};
  for (int level = 1; level <= 4; ++level) {
    std::string name = "down" + std::to_string(level);
    Signal x = n.maxPool(levels.back(), {2, 2}, {2, 2}, {0, 0}, name + ".pool");
    levels.push_back(twice(n, x, 2 * x.channels(), name));
  }
  Signal x = levels.back();
  for (int level = 3; level >= 0; --level) {
    std::string name = "up" + std::to_string(level);
    Signal skip = levels[level];
    x = n.convTranspose(x, skip.channels(), 2, name + ".upsample");
    x = twice(n, n.concat({skip, x}, name + ".concat"), skip.channels(), name);
  }
  return n.conv(x, classes, ConvOptions::square(1), "classes");
}

} // namespace lathe::zoo
