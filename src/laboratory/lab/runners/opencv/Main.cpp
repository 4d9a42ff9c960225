// OpenCV's dnn module as a runner (docs/runner-protocol.md): frozen graphs of TensorFlow and ONNX models.
#include "lab/runners/ServeRunner.h"
#include "lab/runners/opencv/Names.h"
#include "support/Error.h"

#include <opencv2/core.hpp>
#include <opencv2/dnn.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using nlohmann::json;
using namespace lathe;

namespace {

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{}: cannot read", path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// OpenCV's message in one line, with the position in its source.
std::string said(const cv::Exception &error) {
  std::string text = error.err.empty() ? error.what() : error.err;
  std::replace(text.begin(), text.end(), '\n', ' ');
  return fmt::format("OpenCV: {} ({}:{})", text, error.file.substr(error.file.rfind('/') + 1), error.line);
}

cv::Mat matOf(const Tensor &tensor) {
  std::vector<int> dims(tensor.dims().begin(), tensor.dims().end());
  cv::Mat mat(int(dims.size()), dims.data(), CV_32F);
  std::memcpy(mat.data, tensor.data(), sizeof(float) * size_t(tensor.elements()));
  return mat;
}

Tensor tensorOf(const cv::Mat &mat) {
  require(mat.depth() == CV_32F && mat.isContinuous(), "OpenCV gives another type than float32");
  std::vector<int64_t> dims(mat.size.p, mat.size.p + mat.dims);
  Tensor tensor(ElementType::f32, dims);
  std::memcpy(tensor.data(), mat.data, sizeof(float) * size_t(tensor.elements()));
  return tensor;
}

/// A tensor of four axes with its axes in another order.
cv::Mat reordered(const cv::Mat &mat, const std::vector<int> &order) {
  cv::Mat result;
  cv::transposeND(mat, order, result);
  return result;
}

class OpenCvRunner : public lab::ServedRunner {
public:
  json hello() override {
    return {{"name", "opencv"},
            {"version", cv::getVersionString()},
            {"formats", {"tensorflow", "onnx"}},
            {"settings",
             {{"backend", "OpenCV's own, CPU"},
              {"caution", "opencv is a judge of outputs: its dnn module is no runtime that is tuned for speed"}}}};
  }

  void load(const std::string &path, int count) override {
    inputs.clear();
    std::string bytes = contentOf(path);
    try {
      names = lab::modelNames(bytes);
    } catch (const Error &error) {
      fail("{}: {}", path, error.what());
    }
    try {
      net = names.onnx ? cv::dnn::readNetFromONNX(bytes.data(), bytes.size())
                       : cv::dnn::readNetFromTensorflow(bytes.data(), bytes.size());
      net.setPreferableBackend(cv::dnn::DNN_BACKEND_OPENCV);
      net.setPreferableTarget(cv::dnn::DNN_TARGET_CPU);
      layers = layersOf(names);
    } catch (const cv::Exception &error) {
      fail("{}: {}", path, said(error));
    }
    setThreads(count);
  }

  json describe() override {
    json ins = json::array(), outs = json::array();
    for (const lab::ModelInput &input : names.inputs) {
      json dims = json::array();
      for (size_t i = 0; i < input.dims.size(); ++i)
        dims.push_back(input.dims[i] < 0 ? json(fmt::format("{}_{}", input.name, i)) : json(input.dims[i]));
      ins.push_back({{"name", input.name}, {"type", "f32"}, {"dims", input.dims.empty() ? json() : dims}});
    }
    for (const std::string &output : names.outputs)
      outs.push_back({{"name", output}, {"type", "f32"}, {"dims", json()}});
    return {{"inputs", ins}, {"outputs", outs}};
  }

  void setThreads(int count) override { cv::setNumThreads(count); }

  void bind(const std::string &input, Tensor tensor) override {
    require(tensor.type() == ElementType::f32, "input '{}': expected float32, got {}", input, name(tensor.type()));
    require(!tensor.dims().empty(), "input '{}': expected one axis or more, got a scalar", input);
    inputs[input] = matOf(tensor);
  }

  /// Binds and runs once: OpenCV prepares its layers for the extents of the inputs.
  bool prepare() override {
    if (!inputs.empty())
      try {
        for (const auto &[name, mat] : inputs)
          net.setInput(names.channelsLast && mat.dims == 4 ? reordered(mat, {0, 3, 1, 2}) : mat, name);
      } catch (const cv::Exception &error) {
        fail("{}", said(error));
      }
    run();
    return true;
  }

  void run() override {
    try {
      net.forward(results, layers);
    } catch (const cv::Exception &error) {
      fail("{}", said(error));
    }
  }

  std::vector<lab::NamedTensor> outputs() override {
    std::vector<lab::NamedTensor> list;
    for (size_t i = 0; i < results.size(); ++i) {
      bool moved = names.channelsLast && results[i].dims == 4;
      list.push_back({names.outputs[i], tensorOf(moved ? reordered(results[i], {0, 2, 3, 1}) : results[i])});
    }
    return list;
  }

private:
  /// The layer that computes each output: it has the name of the output or, for ONNX, a name made from the node's name.
  /// If the importer has left out a layer like this: the layers without readers, if there are as many.
  std::vector<cv::String> layersOf(const lab::ModelNames &model) {
    std::vector<cv::String> found, unread = net.getUnconnectedOutLayersNames();
    for (const std::string &output : model.outputs) {
      auto maker = model.makers.find(output);
      for (const std::string &name :
           {output, "onnx_node_output_0!" + output, "onnx_node!" + (maker == model.makers.end() ? "" : maker->second)})
        if (net.getLayerId(name) >= 0) {
          found.push_back(name);
          break;
        }
    }
    if (found.size() == model.outputs.size())
      return found;
    require(unread.size() == model.outputs.size(), "OpenCV has the outputs {}, expected {}", fmt::join(unread, ", "),
            fmt::join(model.outputs, ", "));
    return unread;
  }

  lab::ModelNames names;
  std::vector<cv::String> layers; // layers of the outputs
  cv::dnn::Net net;
  std::map<std::string, cv::Mat> inputs;
  std::vector<cv::Mat> results;
};

} // namespace

int main(int argc, char **) {
  if (argc != 1) {
    std::cerr << "usage: lathe-runner-opencv\nAnswers the requests of docs/runner-protocol.md on standard input.\n";
    return 2;
  }
  OpenCvRunner runner;
  return lab::serveRunner(runner);
}
