#include "zoo/Zoo.h"

#include "zoo/Architectures.h"

#include <functional>

namespace lathe {

using namespace zoo;

namespace {

struct Architecture {
  ZooEntry entry;
  std::function<Signal(Network &)> build;
};

const std::vector<Architecture> &architectures() {
  static const std::vector<Architecture> table = {
      {{"alexnet", "5 convolutions, 3 dense layers (Krizhevsky 2014)"}, alexnet},
      {{"vgg16", "13 convolutions 3x3, 3 dense layers (Simonyan, Zisserman 2014)"},
       [](Network &n) { return vgg(n, {2, 2, 3, 3, 3}); }},
      {{"vgg19", "16 convolutions 3x3, 3 dense layers"}, [](Network &n) { return vgg(n, {2, 2, 4, 4, 4}); }},
      {{"resnet18", "residual network of basic blocks (He et al. 2015)"},
       [](Network &n) { return resnet(n, {2, 2, 2, 2}, false); }},
      {{"resnet34", "residual network of basic blocks"}, [](Network &n) { return resnet(n, {3, 4, 6, 3}, false); }},
      {{"resnet50", "residual network of bottleneck blocks, stride on the 3x3"},
       [](Network &n) { return resnet(n, {3, 4, 6, 3}, true); }},
      {{"resnet101", "residual network of bottleneck blocks"},
       [](Network &n) { return resnet(n, {3, 4, 23, 3}, true); }},
      {{"resnet152", "residual network of bottleneck blocks"},
       [](Network &n) { return resnet(n, {3, 8, 36, 3}, true); }},
      {{"densenet121", "densely connected blocks, growth 32 (Huang et al. 2016)"},
       [](Network &n) { return densenet(n, {6, 12, 24, 16}, 32, 64); }},
      {{"googlenet", "inception blocks, local response normalisation (Szegedy et al. 2014)"}, googlenet},
      {{"inception_v2", "inception blocks with batch normalisation (Ioffe, Szegedy 2015)"}, inceptionV2},
      {{"inception_v3", "factorised inception blocks, 299x299 (Szegedy et al. 2015)"}, inceptionV3},
      {{"squeezenet", "fire modules, version 1.1 (Iandola et al. 2016)"}, squeezenet},
      {{"mobilenet_v1", "depthwise separable convolutions, width 1.0 (Howard et al. 2017)"}, mobilenetV1},
      {{"mobilenet_v2", "inverted residuals, width 1.0 (Sandler et al. 2018)"}, mobilenetV2},
      {{"mobilenet_v3", "inverted residuals with squeeze-and-excitation, large (Howard et al. 2019)"}, mobilenetV3},
      {{"efficientnet_b0", "inverted residuals with squeeze-and-excitation and silu (Tan, Le 2019)"}, efficientnetB0},
      {{"shufflenet_v2", "channel split and shuffle, width 1.0 (Ma et al. 2018)"}, shufflenetV2},
      {{"vit_b_16", "vision transformer, 12 layers of 768 features, patches of 16x16 (Dosovitskiy et al. 2020)"},
       vitB16},
      {{"unet", "segmentation with transposed convolutions, 128x128, 2 classes (Ronneberger et al. 2015)"}, unet},
      {{"lstm", "2 LSTM layers of 256 over 128 steps (Hochreiter, Schmidhuber 1997), a dense layer a step"},
       twoLayerLstm},
      {{"bert_base", "12 transformer layers of 768, 128 tokens (Devlin et al. 2018)"}, bertBase},
      {{"gpt2_small", "12 transformer layers of 768, 64 tokens (Radford et al. 2019)"},
       [](Network &n) { return gpt2Small(n, Gpt2Form::whole); }},
      {{"gpt2_small_past", "one more token after 64 whose keys and values are given"},
       [](Network &n) { return gpt2Small(n, Gpt2Form::past); }},
      {{"gpt2_small_decoder", "one more token after P whose keys and values are given, and the likeliest next one"},
       [](Network &n) { return gpt2Small(n, Gpt2Form::decoder); }},
      {{"rcnn_ctc_ocr", "text-line reader with the convolutions of the table rcnn-ctc-ocr"}, rcnnCtcOcr},
  };
  return table;
}

} // namespace

const std::vector<ZooEntry> &zooEntries() {
  static const std::vector<ZooEntry> entries = [] {
    std::vector<ZooEntry> result;
    for (const Architecture &architecture : architectures())
      result.push_back(architecture.entry);
    return result;
  }();
  return entries;
}

mlir::OwningOpRef<mlir::ModuleOp> buildZoo(mlir::MLIRContext &context, const std::string &name,
                                           const ZooOptions &options) {
  std::string names;
  for (const Architecture &architecture : architectures()) {
    if (architecture.entry.name == name) {
      Network network(context, name, options);
      Signal result = architecture.build(network);
      require(options.sequence == 0 || network.readsSequence,
              "zoo {}: the network reads no sequence, expected no length for it", name);
      return network.finish({result}, {"output"});
    }
    names += (names.empty() ? "" : ", ") + architecture.entry.name;
  }
  fail("zoo has no network '{}', expected one of {}", name, names);
}

} // namespace lathe
