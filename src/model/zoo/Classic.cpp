// AlexNet, VGG, SqueezeNet: plain chains of convolutions.
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {

Signal classifier(Network &n, Signal x, int64_t hidden) {
  x = n.flatten(x, "flatten");
  for (int layer = 1; layer <= 2; ++layer) {
    std::string name = "fc" + std::to_string(layer);
    x = n.activate(n.dense(x, hidden, name), Activation::relu, name + ".relu");
  }
  return n.dense(x, 1000, "fc3");
}

} // namespace

Signal alexnet(Network &n) {
  Signal x = n.input({3, 224, 224});
  x = n.maxPool(n.convRelu(x, 64, ConvOptions::square(11, 4, 2), "conv1"), {3, 3}, {2, 2}, {0, 0}, "pool1");
  x = n.maxPool(n.convRelu(x, 192, ConvOptions::square(5), "conv2"), {3, 3}, {2, 2}, {0, 0}, "pool2");
  x = n.convRelu(x, 384, ConvOptions::square(3), "conv3");
  x = n.convRelu(x, 256, ConvOptions::square(3), "conv4");
  x = n.maxPool(n.convRelu(x, 256, ConvOptions::square(3), "conv5"), {3, 3}, {2, 2}, {0, 0}, "pool5");
  return classifier(n, x, 4096);
}

Signal vgg(Network &n, const std::vector<int> &convolutionsPerStage) {
  Signal x = n.input({3, 224, 224});
  const int64_t channels[] = {64, 128, 256, 512, 512};
  for (size_t stage = 0; stage < convolutionsPerStage.size(); ++stage) {
    std::string prefix = std::to_string(stage + 1);
    for (int i = 1; i <= convolutionsPerStage[stage]; ++i)
      x = n.convRelu(x, channels[stage], ConvOptions::square(3), "conv" + prefix + "_" + std::to_string(i));
    x = n.maxPool(x, {2, 2}, {2, 2}, {0, 0}, "pool" + prefix);
  }
  return classifier(n, x, 4096);
}

Signal squeezenet(Network &n) {
  auto fire = [&](Signal x, int64_t squeeze, int64_t expand, const std::string &name) {
    x = n.convRelu(x, squeeze, ConvOptions::square(1), name + ".squeeze");
    Signal one = n.convRelu(x, expand, ConvOptions::square(1), name + ".expand1x1");
    Signal three = n.convRelu(x, expand, ConvOptions::square(3), name + ".expand3x3");
    return n.concat({one, three}, name + ".concat");
  };
  Signal x = n.input({3, 224, 224});
  x = n.maxPool(n.convRelu(x, 64, ConvOptions::square(3, 2, 0), "conv1"), {3, 3}, {2, 2}, {0, 0}, "pool1", true);
  x = fire(fire(x, 16, 64, "fire2"), 16, 64, "fire3");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool3", true);
  x = fire(fire(x, 32, 128, "fire4"), 32, 128, "fire5");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool5", true);
  x = fire(fire(x, 48, 192, "fire6"), 48, 192, "fire7");
  x = fire(fire(x, 64, 256, "fire8"), 64, 256, "fire9");
  x = n.convRelu(x, 1000, ConvOptions::square(1), "conv10");
  return n.flatten(n.globalAveragePool(x, "pool10"), "flatten");
}

} // namespace lathe::zoo
