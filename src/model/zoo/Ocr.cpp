// A text-line reader trained with CTC. Its convolutions have the shapes and counts of the table of suite rcnn-ctc-ocr.
//
// The table does not give the wiring: here each 3x3 is between two 1x1 in a residual block, and stages are joined
// without convolutions that the table does not have (channels grow by concatenating poolings, classes come from a
// matrix product).
#include "zoo/Architectures.h"

namespace lathe::zoo {

namespace {

/// `blocks` residual blocks 1x1, 3x3, 1x1; the first has no leading 1x1, because the stage's input is already narrow.
Signal stage(Network &n, Signal x, int blocks, const std::string &stageName) {
  for (int block = 1; block <= blocks; ++block) {
    std::string name = stageName + "." + std::to_string(block);
    Signal y = x;
    if (block > 1)
      y = n.unit(y, x.channels(), ConvOptions::square(1), Activation::relu, name + ".1");
    y = n.unit(y, x.channels(), ConvOptions::square(3), Activation::relu, name + ".2");
    y = n.unit(y, x.channels(), ConvOptions::square(1), Activation::none, name + ".3", 0.5);
    x = n.activate(n.add(x, y, name + ".add"), Activation::relu, name + ".relu");
  }
  return x;
}

/// Reduces the image: concatenates the maxima of all channels and the averages of the first `extra` channels.
Signal grow(Network &n, Signal x, int64_t extra, std::array<int64_t, 2> stride, const std::string &name) {
  Signal largest = n.maxPool(x, {3, 3}, stride, {1, 1}, name + ".max");
  Signal part = extra == x.channels() ? x : n.split(x, {extra, x.channels() - extra}, name + ".split")[0];
  return n.concat({largest, n.averagePool(part, {3, 3}, stride, {1, 1}, name + ".average")}, name + ".concat");
}

} // namespace

Signal rcnnCtcOcr(Network &n) {
  const int64_t classes = 1318;
  Signal x = n.input({32, 108, 21});
  ConvOptions tall{{11, 31}, {1, 1}, {5, 15}, 1, true};
  for (int i = 1; i <= 3; ++i)
    x = n.unit(x, 32, tall, Activation::relu, "stem" + std::to_string(i));
  x = stage(n, grow(n, x, 32, {1, 1}, "grow1"), 12, "stage1"); //  64 channels at 108x21
  x = stage(n, grow(n, x, 64, {1, 2}, "grow2"), 12, "stage2"); // 128 at 108x11
  x = stage(n, grow(n, x, 64, {2, 2}, "grow3"), 8, "stage3");  // 192 at 54x6
  x = stage(n, grow(n, x, 64, {1, 1}, "grow4"), 6, "stage4");  // 256 at 54x6
  for (int i = 1; i <= 2; ++i)
    x = n.unit(x, 256, ConvOptions::square(1), Activation::relu, "head" + std::to_string(i));

  // Columns of the image become the sequence: batch x 54 steps x (256 channels x 6 rows) -> classes.
  x = n.reshape(n.transpose(x, {0, 2, 1, 3}, "to_steps"), {-1, 256 * 6}, "steps");
  x = n.dense(x, classes, "classes");
  x = n.transpose(n.reshape(x, {-1, 54, classes, 1}, "sequence"), {0, 2, 1, 3}, "to_image");
  x = n.conv(x, classes, ConvOptions::square(1), "scores"); // 1318 channels at 54x1
  x = n.reshape(n.transpose(x, {0, 2, 1, 3}, "scores_by_step"), {0, 54, classes}, "scores_sequence");
  return n.softmax(x, 2, "probabilities");
}

} // namespace lathe::zoo
