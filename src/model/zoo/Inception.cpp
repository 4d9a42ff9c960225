// GoogLeNet, Inception-v2 (BN-Inception) and Inception-v3: parallel branches, concatenated.
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {

/// Inception-v3's unit: convolution, batch norm, relu.
Signal unit(Network &n, Signal x, int64_t channels, ConvOptions options, const std::string &name) {
  return n.unit(x, channels, options, Activation::relu, name);
}

ConvOptions rectangle(int64_t height, int64_t width) {
  return {{height, width}, {1, 1}, {height / 2, width / 2}, 1, true};
}

Signal pooled(Network &n, Signal x, const std::string &name) {
  return n.averagePool(x, {3, 3}, {1, 1}, {1, 1}, name + ".pool");
}

Signal blockA(Network &n, Signal x, int64_t poolChannels, const std::string &name) {
  Signal one = unit(n, x, 64, ConvOptions::square(1), name + ".1x1");
  Signal five =
      unit(n, unit(n, x, 48, ConvOptions::square(1), name + ".5x5_1"), 64, ConvOptions::square(5), name + ".5x5_2");
  Signal three = unit(n, x, 64, ConvOptions::square(1), name + ".3x3dbl_1");
  three = unit(n, three, 96, ConvOptions::square(3), name + ".3x3dbl_2");
  three = unit(n, three, 96, ConvOptions::square(3), name + ".3x3dbl_3");
  Signal pool = unit(n, pooled(n, x, name), poolChannels, ConvOptions::square(1), name + ".pool_proj");
  return n.concat({one, five, three, pool}, name + ".concat");
}

Signal blockB(Network &n, Signal x, const std::string &name) {
  Signal three = unit(n, x, 384, ConvOptions::square(3, 2, 0), name + ".3x3");
  Signal twice = unit(n, x, 64, ConvOptions::square(1), name + ".3x3dbl_1");
  twice = unit(n, twice, 96, ConvOptions::square(3), name + ".3x3dbl_2");
  twice = unit(n, twice, 96, ConvOptions::square(3, 2, 0), name + ".3x3dbl_3");
  return n.concat({three, twice, n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, name + ".pool")}, name + ".concat");
}

Signal blockC(Network &n, Signal x, int64_t c7, const std::string &name) {
  Signal one = unit(n, x, 192, ConvOptions::square(1), name + ".1x1");
  Signal seven = unit(n, x, c7, ConvOptions::square(1), name + ".7x7_1");
  seven = unit(n, seven, c7, rectangle(1, 7), name + ".7x7_2");
  seven = unit(n, seven, 192, rectangle(7, 1), name + ".7x7_3");
  Signal twice = unit(n, x, c7, ConvOptions::square(1), name + ".7x7dbl_1");
  twice = unit(n, twice, c7, rectangle(7, 1), name + ".7x7dbl_2");
  twice = unit(n, twice, c7, rectangle(1, 7), name + ".7x7dbl_3");
  twice = unit(n, twice, c7, rectangle(7, 1), name + ".7x7dbl_4");
  twice = unit(n, twice, 192, rectangle(1, 7), name + ".7x7dbl_5");
  Signal pool = unit(n, pooled(n, x, name), 192, ConvOptions::square(1), name + ".pool_proj");
  return n.concat({one, seven, twice, pool}, name + ".concat");
}

Signal blockD(Network &n, Signal x, const std::string &name) {
  Signal three = unit(n, x, 192, ConvOptions::square(1), name + ".3x3_1");
  three = unit(n, three, 320, ConvOptions::square(3, 2, 0), name + ".3x3_2");
  Signal seven = unit(n, x, 192, ConvOptions::square(1), name + ".7x7x3_1");
  seven = unit(n, seven, 192, rectangle(1, 7), name + ".7x7x3_2");
  seven = unit(n, seven, 192, rectangle(7, 1), name + ".7x7x3_3");
  seven = unit(n, seven, 192, ConvOptions::square(3, 2, 0), name + ".7x7x3_4");
  return n.concat({three, seven, n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, name + ".pool")}, name + ".concat");
}

Signal blockE(Network &n, Signal x, const std::string &name) {
  auto forked = [&](Signal y, const std::string &branch) {
    Signal wide = unit(n, y, 384, rectangle(1, 3), branch + "a");
    Signal tall = unit(n, y, 384, rectangle(3, 1), branch + "b");
    return n.concat({wide, tall}, branch + ".concat");
  };
  Signal one = unit(n, x, 320, ConvOptions::square(1), name + ".1x1");
  Signal three = forked(unit(n, x, 384, ConvOptions::square(1), name + ".3x3_1"), name + ".3x3_2");
  Signal twice = unit(n, x, 448, ConvOptions::square(1), name + ".3x3dbl_1");
  twice = forked(unit(n, twice, 384, ConvOptions::square(3), name + ".3x3dbl_2"), name + ".3x3dbl_3");
  Signal pool = unit(n, pooled(n, x, name), 192, ConvOptions::square(1), name + ".pool_proj");
  return n.concat({one, three, twice, pool}, name + ".concat");
}

} // namespace

Signal googlenet(Network &n) {
  struct Widths {
    const char *name;
    int64_t one, reduce3, three, reduce5, five, pool;
  };
  auto inception = [&](Signal x, const Widths &w) {
    std::string name = std::string("inception_") + w.name;
    Signal one = n.convRelu(x, w.one, ConvOptions::square(1), name + ".1x1");
    Signal three = n.convRelu(x, w.reduce3, ConvOptions::square(1), name + ".3x3_reduce");
    three = n.convRelu(three, w.three, ConvOptions::square(3), name + ".3x3");
    Signal five = n.convRelu(x, w.reduce5, ConvOptions::square(1), name + ".5x5_reduce");
    five = n.convRelu(five, w.five, ConvOptions::square(5), name + ".5x5");
    Signal pool = n.maxPool(x, {3, 3}, {1, 1}, {1, 1}, name + ".pool");
    pool = n.convRelu(pool, w.pool, ConvOptions::square(1), name + ".pool_proj");
    return n.concat({one, three, five, pool}, name + ".concat");
  };
  Signal x = n.input({3, 224, 224});
  x = n.convRelu(x, 64, ConvOptions::square(7, 2), "conv1");
  x = n.lrn(n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool1", true), 5, 1e-4, 0.75, 1, "norm1");
  x = n.convRelu(x, 64, ConvOptions::square(1), "conv2_reduce");
  x = n.lrn(n.convRelu(x, 192, ConvOptions::square(3), "conv2"), 5, 1e-4, 0.75, 1, "norm2");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool2", true);
  x = inception(x, {"3a", 64, 96, 128, 16, 32, 32});
  x = inception(x, {"3b", 128, 128, 192, 32, 96, 64});
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool3", true);
  x = inception(x, {"4a", 192, 96, 208, 16, 48, 64});
  x = inception(x, {"4b", 160, 112, 224, 24, 64, 64});
  x = inception(x, {"4c", 128, 128, 256, 24, 64, 64});
  x = inception(x, {"4d", 112, 144, 288, 32, 64, 64});
  x = inception(x, {"4e", 256, 160, 320, 32, 128, 128});
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool4", true);
  x = inception(x, {"5a", 256, 160, 320, 32, 128, 128});
  x = inception(x, {"5b", 384, 192, 384, 48, 128, 128});
  return n.dense(n.flatten(n.globalAveragePool(x, "pool5"), "flatten"), 1000, "fc");
}

Signal inceptionV2(Network &n) {
  struct Widths {
    const char *name;
    int64_t one, reduce3, three, reduceTwice, twice,
        pool; // one 0: the block halves the image, and its pool has no projection
    bool maximum = false;
  };
  auto inception = [&](Signal x, const Widths &w) {
    std::string name = std::string("inception_") + w.name;
    int64_t stride = w.one == 0 ? 2 : 1;
    llvm::SmallVector<Signal> parts;
    if (w.one != 0)
      parts.push_back(unit(n, x, w.one, ConvOptions::square(1), name + ".1x1"));
    Signal three = unit(n, x, w.reduce3, ConvOptions::square(1), name + ".3x3_reduce");
    parts.push_back(unit(n, three, w.three, ConvOptions::square(3, stride), name + ".3x3"));
    Signal twice = unit(n, x, w.reduceTwice, ConvOptions::square(1), name + ".3x3dbl_reduce");
    twice = unit(n, twice, w.twice, ConvOptions::square(3), name + ".3x3dbl_1");
    parts.push_back(unit(n, twice, w.twice, ConvOptions::square(3, stride), name + ".3x3dbl_2"));
    if (w.one == 0) {
      parts.push_back(n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, name + ".pool", true));
    } else {
      Signal pool = w.maximum ? n.maxPool(x, {3, 3}, {1, 1}, {1, 1}, name + ".pool") : pooled(n, x, name);
      parts.push_back(unit(n, pool, w.pool, ConvOptions::square(1), name + ".pool_proj"));
    }
    return n.concat(parts, name + ".concat");
  };
  Signal x = unit(n, n.input({3, 224, 224}), 64, ConvOptions::square(7, 2), "conv1");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool1", true);
  x = unit(n, x, 64, ConvOptions::square(1), "conv2_reduce");
  x = unit(n, x, 192, ConvOptions::square(3), "conv2");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool2", true);
  for (const Widths &w : {Widths{"3a", 64, 64, 64, 64, 96, 32},
                          {"3b", 64, 64, 96, 64, 96, 64},
                          {"3c", 0, 128, 160, 64, 96, 0},
                          {"4a", 224, 64, 96, 96, 128, 128},
                          {"4b", 192, 96, 128, 96, 128, 128},
                          {"4c", 160, 128, 160, 128, 160, 128},
                          {"4d", 96, 128, 192, 160, 192, 128},
                          {"4e", 0, 128, 192, 192, 256, 0},
                          {"5a", 352, 192, 320, 160, 224, 128},
                          {"5b", 352, 192, 320, 192, 224, 128, true}})
    x = inception(x, w);
  return n.dense(n.flatten(n.globalAveragePool(x, "pool5"), "flatten"), 1000, "fc");
}

Signal inceptionV3(Network &n) {
  Signal x = n.input({3, 299, 299});
  x = unit(n, x, 32, ConvOptions::square(3, 2, 0), "1a");
  x = unit(n, x, 32, ConvOptions::square(3, 1, 0), "2a");
  x = unit(n, x, 64, ConvOptions::square(3), "2b");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool1");
  x = unit(n, x, 80, ConvOptions::square(1), "3b");
  x = unit(n, x, 192, ConvOptions::square(3, 1, 0), "4a");
  x = n.maxPool(x, {3, 3}, {2, 2}, {0, 0}, "pool2");
  x = blockA(n, x, 32, "5b");
  x = blockA(n, x, 64, "5c");
  x = blockA(n, x, 64, "5d");
  x = blockB(n, x, "6a");
  x = blockC(n, x, 128, "6b");
  x = blockC(n, x, 160, "6c");
  x = blockC(n, x, 160, "6d");
  x = blockC(n, x, 192, "6e");
  x = blockD(n, x, "7a");
  x = blockE(n, x, "7b");
  x = blockE(n, x, "7c");
  return n.dense(n.flatten(n.globalAveragePool(x, "pool"), "flatten"), 1000, "fc");
}

} // namespace lathe::zoo
