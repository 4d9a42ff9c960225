// Spectrograms of signals. The Fourier transform of all frames is a convolution with sines and cosines as kernels.
#include "import/keras/Numbers.h"

#include <cmath>
#include <numbers>

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

constexpr double epsilon = 1e-7; // keras.backend.epsilon()

mlir::Value squared(Layer &layer, mlir::Value x) { return layer.emit("mul", {x, x}); }

// ---- STFTSpectrogram ----------------------------------------------------------------------------------------------

/// Kernels of the file (frame x 1 x frequencies), transposed for a convolution with the channels first.
mlir::Value waves(Layer &layer, const std::string &mode) {
  bool real = mode != "imag", imaginary = mode != "real";
  layer.expectWeights(static_cast<size_t>(real) + static_cast<size_t>(imaginary));
  Values parts;
  for (size_t i = 0; i < layer.weightCount(); ++i)
    parts.push_back(transpose(layer.node, layer.weight(i), {2, 1, 0}));
  return parts.size() == 1 ? parts[0] : layer.emit("concat", parts, {{"axis", 0}});
}

/// Transposes batch x channels x frequencies x frames to the layer's order.
mlir::Value arranged(Layer &layer, mlir::Value y) {
  const Dims dims = layer.dims(y);
  if (layer.flag("expand_dims", false))
    return transpose(layer.node, y, layer.channelsLast() ? Ints{0, 3, 2, 1} : Ints{0, 1, 3, 2});
  y = layer.node.reshape(y, {dims[0], dims[1] * dims[2], dims[3]});
  return layer.channelsLast() ? transpose(layer.node, y, {0, 2, 1}) : y;
}

void importStft(Layer &layer) {
  std::string mode = layer.text("mode", "log"), padding = layer.text("padding", "valid");
  mlir::Value x = layer.in();
  require(layer.rank(x) == 3, "the operand has rank {}, expected 3", layer.rank(x));
  if (layer.channelsLast())
    x = transpose(layer.node, x, {0, 2, 1});
  const Dims dims = layer.dims(x);
  mlir::Value w = waves(layer, mode);
  require(layer.dims(w).size() == 3 && layer.dims(w)[1] == Dim(1) &&
              layer.dims(w)[0].constantOr(0) >= static_cast<int64_t>(layer.weightCount()),
          "the kernels are {}, expected one channel and at least one frequency", str(layer.dims(w)));
  int64_t frame = layer.dims(w)[2].constant(), step = layer.integer("frame_step", 0);
  Window window{{frame}, {step ? step : frame / 2}, {1}, {0, 0}};
  checkWindow(window);
  require(padding == "same" || padding == "valid", "padding is '{}', expected valid or same", padding);
  if (padding == "same")
    padSame({dims[2]}, window);
  mlir::Value signals = layer.node.reshape(x, {dims[0] * dims[1], Dim(1), dims[2]});
  Fields fields = window.fields();
  fields.emplace_back("group", 1);
  mlir::Value y = layer.emit("conv", {signals, w, {}}, fields);
  y = layer.node.reshape(y, {dims[0], dims[1], layer.dims(y)[1], layer.dims(y)[2]});
  if (mode == "real" || mode == "imag" || mode == "stft")
    return layer.set(arranged(layer, y));
  Emitter emitter(layer.node);
  int64_t both = layer.dims(y)[2].constant(), count = both / 2;
  mlir::Value real = cut(emitter, y, 2, 0, count), imaginary = cut(emitter, y, 2, count, both);
  if (mode == "angle")
    return layer.set(arranged(layer, atan2(emitter, imaginary, real)));
  mlir::Value power = layer.emit("add", {squared(layer, real), squared(layer, imaginary)});
  if (mode == "psd") { // the first and last frequency count once, all others twice
    std::vector<double> twice(static_cast<size_t>(count), 2);
    twice.front() = twice.back() = 1;
    return layer.set(arranged(layer, layer.emit("mul", {power, constantNumbers(layer, {count, 1}, twice)})));
  }
  mlir::Value magnitude = layer.emit("sqrt", {layer.emit("max", {power, layer.scalar(epsilon)})});
  require(mode == "log" || mode == "magnitude", "mode is '{}', expected log, magnitude, psd, real, imag, angle or stft",
          mode);
  if (mode == "log")
    magnitude = layer.emit("log", {layer.emit("max", {magnitude, layer.scalar(epsilon)})});
  layer.set(arranged(layer, magnitude));
}

// ---- MelSpectrogram -----------------------------------------------------------------------------------------------

/// `length` values of a (periodic) window, centred in `count` values.
std::vector<double> windowOf(Layer &layer, int64_t length, int64_t count) {
  const json &given = member(layer.config, "window");
  std::vector<double> values(static_cast<size_t>(length), 1);
  if (given.is_string()) {
    std::string name = given.get<std::string>();
    require(name == "hann" || name == "hamming", "window is '{}', expected hann or hamming", name);
    double raised = name == "hann" ? 0.5 : 0.54;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] =
          raised - (1 - raised) * std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length));
  } else if (!given.is_null()) {
    values.clear();
    collectNumbers(given, values);
    require(static_cast<int64_t>(values.size()) == length, "window has {} values, expected {}", values.size(), length);
  }
  int64_t left = (count - length) / 2;
  values.insert(values.begin(), static_cast<size_t>(left), 0);
  values.resize(static_cast<size_t>(count), 0);
  return values;
}

/// Cosines or negative sines of all frequencies, times the window: count / 2 + 1 x 1 x count.
mlir::Value windowedWaves(Layer &layer, const std::vector<double> &window, bool sines) {
  auto count = static_cast<int64_t>(window.size()), frequencies = count / 2 + 1;
  std::vector<double> values(static_cast<size_t>(madeElements({frequencies, count}, "the waves of a spectrogram")));
  for (int64_t f = 0; f < frequencies; ++f)
    for (int64_t i = 0; i < count; ++i) {
      double angle = 2 * std::numbers::pi * static_cast<double>(f * i % count) / static_cast<double>(count);
      values[static_cast<size_t>(f * count + i)] =
          window[static_cast<size_t>(i)] * (sines ? -std::sin(angle) : std::cos(angle));
    }
  return constantNumbers(layer, {frequencies, 1, count}, values);
}

double mel(double hertz) { return 1127 * std::log(1 + hertz / 700); }

/// Triangles over the mel scale: bands x frequencies. The constant part of a signal belongs to no band.
mlir::Value bands(Layer &layer, int64_t frequencies, double rate) {
  int64_t count = layer.integer("num_mel_bins", 128);
  double low = mel(layer.number("min_freq", 20)), high = mel(layer.number("max_freq", std::floor(rate / 2)));
  require(count >= 1 && low < high, "has {} bands from {} to {} mel, expected at least one and a range", count, low,
          high);
  std::vector<double> values(static_cast<size_t>(madeElements({count, frequencies}, "the bands of a spectrogram")));
  double step = (high - low) / static_cast<double>(count + 1);
  for (int64_t band = 0; band < count; ++band)
    for (int64_t f = 1; f < frequencies; ++f) {
      double at = mel(rate / 2 * static_cast<double>(f) / static_cast<double>(frequencies - 1));
      double begin = low + static_cast<double>(band) * step;
      double up = (at - begin) / step, down = (begin + 2 * step - at) / step;
      values[static_cast<size_t>(band * frequencies + f)] = std::max(0.0, std::min(up, down));
    }
  return constantNumbers(layer, {count, frequencies}, values);
}

/// Decibels above ref_power, limited to top_db below the maximum.
mlir::Value decibels(Layer &layer, mlir::Value power) {
  double least = layer.number("min_power", 1e-10), per = 10 / std::numbers::ln10;
  double reference = std::max(std::abs(layer.number("ref_power", 1)), least);
  mlir::Value log = layer.emit("log", {layer.emit("max", {power, layer.scalar(least)})});
  mlir::Value y =
      layer.emit("sub", {layer.emit("mul", {log, layer.scalar(per)}), layer.scalar(per * std::log(reference))});
  mlir::Value loudest = layer.emit("reduce_max", {y}, {{"axes", Ints{0, 1, 2}}, {"keepdims", true}});
  return layer.emit("max", {y, layer.emit("sub", {loudest, layer.scalar(layer.number("top_db", 80))})});
}

void importMel(Layer &layer) {
  int64_t count = layer.integer("fft_length", 2048), step = layer.integer("sequence_stride", 512);
  int64_t length = layer.integer("sequence_length", count);
  double rate = layer.number("sampling_rate", 16000), exponent = layer.number("mag_exp", 2);
  require(count >= 2 && length >= 1 && length <= count && step >= 1 && count <= 1 << 16,
          "has frames of {} in {} and steps of {}, expected 1 to fft_length, at most 2^16, and at least 1", length,
          count, step);
  mlir::Value x = asNumbers(layer);
  require(layer.rank(x) == 2, "the operand has rank {}, expected 2", layer.rank(x));
  const Dims dims = layer.dims(x);
  x = layer.emit("pad", {layer.node.reshape(x, {dims[0], Dim(1), dims[1]}), {}, {}},
                 {{"pads", Ints{0, 0, count / 2, 0, 0, count / 2}}, {"mode", "reflect"}});
  Window window{{count}, {step}, {1}, {0, 0}};
  Fields fields = window.fields();
  fields.emplace_back("group", 1);
  std::vector<double> shape = windowOf(layer, length, count);
  auto part = [&](bool sines) {
    return squared(layer, layer.emit("conv", {x, windowedWaves(layer, shape, sines), {}}, fields));
  };
  mlir::Value power = layer.emit("add", {part(false), part(true)});
  if (exponent == 1)
    power = layer.emit("sqrt", {power});
  else if (exponent != 2)
    power = layer.emit("pow", {power, layer.scalar(exponent / 2)});
  mlir::Value mels = layer.emit("matmul", {bands(layer, count / 2 + 1, rate), power});
  layer.set(layer.flag("power_to_db", true) ? decibels(layer, mels) : mels);
}

} // namespace

void addSignalImporters(Importers &table) {
  table["STFTSpectrogram"] = {importStft, "`conv` with the waves of the file"};
  table["MelSpectrogram"] = {importMel, "`pad`, `conv` with waves, `matmul`, `log`"};
}

} // namespace lathe::keras
