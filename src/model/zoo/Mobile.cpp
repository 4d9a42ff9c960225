// MobileNet v1 to v3, EfficientNet and ShuffleNet v2: depthwise convolutions between 1x1 ones.
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {

ConvOptions depthwise(int64_t channels, int64_t kernel, int64_t stride) {
  return ConvOptions::square(kernel, stride).grouped(channels);
}

/// The multiple of 8 nearest to `value`, but at least 90 % of it.
int64_t roundChannels(double value) {
  int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(value + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * value ? rounded + 8 : rounded;
}

/// Squeeze-and-excitation (Hu et al. 2017, arXiv:1709.01507): scales channels by factors that two dense layers compute
/// from the channels' means.
Signal squeezeExcite(Network &n, Signal y, int64_t squeezed, Activation inner, Activation scale,
                     const std::string &name) {
  Signal s = n.globalAveragePool(y, name + ".pool");
  s = n.activate(n.conv(s, squeezed, ConvOptions::square(1), name + ".fc1"), inner, name + ".relu");
  s = n.conv(s, y.channels(), ConvOptions::square(1), name + ".fc2");
  return n.multiply(n.activate(s, scale, name + ".scale"), y, name + ".mul");
}

} // namespace

Signal mobilenetV1(Network &n) {
  struct Layer {
    int64_t channels, stride;
  };
  Signal x = n.unit(n.input({3, 224, 224}), 32, ConvOptions::square(3, 2), Activation::relu, "stem");
  int index = 0;
  for (Layer layer : {Layer{64, 1},
                      {128, 2},
                      {128, 1},
                      {256, 2},
                      {256, 1},
                      {512, 2},
                      {512, 1},
                      {512, 1},
                      {512, 1},
                      {512, 1},
                      {512, 1},
                      {1024, 2},
                      {1024, 1}}) {
    std::string name = "block" + std::to_string(++index);
    x = n.unit(x, x.channels(), depthwise(x.channels(), 3, layer.stride), Activation::relu, name + ".dw");
    x = n.unit(x, layer.channels, ConvOptions::square(1), Activation::relu, name + ".pw");
  }
  return n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1000, "fc");
}

Signal mobilenetV2(Network &n) {
  struct Stage {
    int64_t expand, channels, repeat, stride;
  };
  Signal x = n.unit(n.input({3, 224, 224}), 32, ConvOptions::square(3, 2), Activation::relu6, "stem");
  int index = 0;
  for (Stage stage :
       {Stage{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}})
    for (int64_t i = 0; i < stage.repeat; ++i) {
      std::string name = "block" + std::to_string(++index);
      int64_t stride = i == 0 ? stage.stride : 1;
      Signal y = x;
      if (stage.expand != 1)
        y = n.unit(y, x.channels() * stage.expand, ConvOptions::square(1), Activation::relu6, name + ".expand");
      y = n.unit(y, y.channels(), depthwise(y.channels(), 3, stride), Activation::relu6, name + ".dw");
      y = n.unit(y, stage.channels, ConvOptions::square(1), Activation::none, name + ".project");
      x = stride == 1 && x.channels() == stage.channels ? n.add(x, y, name + ".add") : y;
    }
  x = n.unit(x, 1280, ConvOptions::square(1), Activation::relu6, "head");
  return n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1000, "fc");
}

Signal mobilenetV3(Network &n) {
  constexpr Activation re = Activation::relu, hs = Activation::hardSwish;
  struct Block {
    int64_t kernel, expand, out;
    bool squeeze;
    Activation activation;
    int64_t stride;
  };
  Signal x = n.unit(n.input({3, 224, 224}), 16, ConvOptions::square(3, 2), hs, "stem");
  int index = 0;
  for (Block block : {Block{3, 16, 16, false, re, 1},
                      {3, 64, 24, false, re, 2},
                      {3, 72, 24, false, re, 1},
                      {5, 72, 40, true, re, 2},
                      {5, 120, 40, true, re, 1},
                      {5, 120, 40, true, re, 1},
                      {3, 240, 80, false, hs, 2},
                      {3, 200, 80, false, hs, 1},
                      {3, 184, 80, false, hs, 1},
                      {3, 184, 80, false, hs, 1},
                      {3, 480, 112, true, hs, 1},
                      {3, 672, 112, true, hs, 1},
                      {5, 672, 160, true, hs, 2},
                      {5, 960, 160, true, hs, 1},
                      {5, 960, 160, true, hs, 1}}) {
    std::string name = "block" + std::to_string(++index);
    Signal y = x;
    if (block.expand != x.channels())
      y = n.unit(y, block.expand, ConvOptions::square(1), block.activation, name + ".expand");
    y = n.unit(y, block.expand, depthwise(block.expand, block.kernel, block.stride), block.activation, name + ".dw");
    if (block.squeeze)
      y = squeezeExcite(n, y, roundChannels(block.expand / 4.0), re, Activation::hardSigmoid, name + ".se");
    y = n.unit(y, block.out, ConvOptions::square(1), Activation::none, name + ".project");
    x = block.stride == 1 && x.channels() == block.out ? n.add(x, y, name + ".add") : y;
  }
  x = n.unit(x, 960, ConvOptions::square(1), hs, "head");
  x = n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1280, "fc1");
  return n.dense(n.activate(x, hs, "fc1.act"), 1000, "fc2");
}

Signal efficientnetB0(Network &n) {
  constexpr Activation silu = Activation::silu;
  struct Stage {
    int64_t expand, kernel, stride, channels, repeat;
  };
  Signal x = n.unit(n.input({3, 224, 224}), 32, ConvOptions::square(3, 2), silu, "stem");
  int index = 0;
  for (Stage stage : {Stage{1, 3, 1, 16, 1},
                      {6, 3, 2, 24, 2},
                      {6, 5, 2, 40, 2},
                      {6, 3, 2, 80, 3},
                      {6, 5, 1, 112, 3},
                      {6, 5, 2, 192, 4},
                      {6, 3, 1, 320, 1}})
    for (int64_t i = 0; i < stage.repeat; ++i) {
      std::string name = "block" + std::to_string(++index);
      int64_t stride = i == 0 ? stage.stride : 1, wide = x.channels() * stage.expand;
      Signal y = x;
      if (stage.expand != 1)
        y = n.unit(y, wide, ConvOptions::square(1), silu, name + ".expand");
      y = n.unit(y, wide, depthwise(wide, stage.kernel, stride), silu, name + ".dw");
      y = squeezeExcite(n, y, std::max<int64_t>(1, x.channels() / 4), silu, Activation::sigmoid, name + ".se");
      y = n.unit(y, stage.channels, ConvOptions::square(1), Activation::none, name + ".project");
      x = stride == 1 && x.channels() == stage.channels ? n.add(x, y, name + ".add") : y;
    }
  x = n.unit(x, 1280, ConvOptions::square(1), silu, "head");
  return n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1000, "fc");
}

Signal shufflenetV2(Network &n) {
  Signal x = n.unit(n.input({3, 224, 224}), 24, ConvOptions::square(3, 2), Activation::relu, "stem");
  x = n.maxPool(x, {3, 3}, {2, 2}, {1, 1}, "stem.pool");
  const int64_t widths[] = {116, 232, 464};
  const int repeats[] = {4, 8, 4};
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < repeats[stage]; ++i) {
      std::string name = "stage" + std::to_string(stage + 2) + "." + std::to_string(i);
      int64_t half = widths[stage] / 2, stride = i == 0 ? 2 : 1;
      Signal left, right;
      if (i == 0) {
        left = n.unit(x, x.channels(), depthwise(x.channels(), 3, 2), Activation::none, name + ".left.dw");
        left = n.unit(left, half, ConvOptions::square(1), Activation::relu, name + ".left.pw");
        right = x;
      } else {
        auto parts = n.split(x, {half, half}, name + ".split");
        left = parts[0];
        right = parts[1];
      }
      right = n.unit(right, half, ConvOptions::square(1), Activation::relu, name + ".pw1");
      right = n.unit(right, half, depthwise(half, 3, stride), Activation::none, name + ".dw");
      right = n.unit(right, half, ConvOptions::square(1), Activation::relu, name + ".pw2");
      x = n.channelShuffle(n.concat({left, right}, name + ".concat"), 2, name + ".shuffle");
    }
  x = n.unit(x, 1024, ConvOptions::square(1), Activation::relu, "conv5");
  return n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1000, "fc");
}

} // namespace lathe::zoo
