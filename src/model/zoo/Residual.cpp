// ResNet and DenseNet: networks whose layers add to, or append to, earlier results.
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {
// The gain of the last layer of a residual branch: small enough that a hundred blocks do not drown the first one.
constexpr double branchGain = 0.5;
} // namespace

Signal resnet(Network &n, const std::vector<int> &blocks, bool bottleneck) {
  Signal x = n.input({3, 224, 224});
  x = n.unit(x, 64, ConvOptions::square(7, 2), Activation::relu, "stem");
  x = n.maxPool(x, {3, 3}, {2, 2}, {1, 1}, "stem.pool");
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    int64_t width = int64_t(64) << stage, out = bottleneck ? 4 * width : width;
    for (int block = 0; block < blocks[stage]; ++block) {
      std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      Signal y;
      if (bottleneck) { // the stride is on the 3x3, as in torchvision
        y = n.unit(x, width, ConvOptions::square(1), Activation::relu, name + ".1");
        y = n.unit(y, width, ConvOptions::square(3, stride), Activation::relu, name + ".2");
        y = n.unit(y, out, ConvOptions::square(1), Activation::none, name + ".3", branchGain);
      } else {
        y = n.unit(x, width, ConvOptions::square(3, stride), Activation::relu, name + ".1");
        y = n.unit(y, width, ConvOptions::square(3), Activation::none, name + ".2", branchGain);
      }
      if (stride != 1 || x.channels() != out)
        x = n.unit(x, out, ConvOptions::square(1, stride), Activation::none, name + ".downsample");
      x = n.activate(n.add(y, x, name + ".add"), Activation::relu, name + ".relu");
    }
  }
  x = n.flatten(n.globalAveragePool(x, "pool"), "flatten");
  return n.dense(x, 1000, "fc");
}

Signal densenet(Network &n, const std::vector<int> &layers, int64_t growth, int64_t initial) {
  auto normRelu = [&](Signal x, const std::string &name) {
    return n.activate(n.batchNorm(x, name + ".bn"), Activation::relu, name + ".relu");
  };
  auto convolution = [&](Signal x, int64_t channels, int64_t kernel, const std::string &name) {
    ConvOptions options = ConvOptions::square(kernel);
    options.bias = false;
    return n.conv(x, channels, options, name);
  };
  Signal x = n.input({3, 224, 224});
  x = n.unit(x, initial, ConvOptions::square(7, 2), Activation::relu, "stem");
  x = n.maxPool(x, {3, 3}, {2, 2}, {1, 1}, "stem.pool");
  for (size_t block = 0; block < layers.size(); ++block) {
    std::string stage = "block" + std::to_string(block + 1);
    for (int layer = 0; layer < layers[block]; ++layer) {
      std::string name = stage + "." + std::to_string(layer + 1);
      Signal y = convolution(normRelu(x, name + ".1"), 4 * growth, 1, name + ".1.conv");
      y = convolution(normRelu(y, name + ".2"), growth, 3, name + ".2.conv");
      x = n.concat({x, y}, name + ".concat");
    }
    if (block + 1 < layers.size()) {
      std::string name = "transition" + std::to_string(block + 1);
      x = convolution(normRelu(x, name), x.channels() / 2, 1, name + ".conv");
      x = n.averagePool(x, {2, 2}, {2, 2}, {0, 0}, name + ".pool");
    }
  }
  x = n.flatten(n.globalAveragePool(normRelu(x, "final"), "pool"), "flatten");
  return n.dense(x, 1000, "fc");
}

} // namespace lathe::zoo
