#include "cli/samples/PictureFlags.h"

#include "cli/Inputs.h"
#include "cli/ModelFlags.h"
#include "support/Text.h"

#include <cmath>
#include <filesystem>
#include <tuple>

namespace lathe::cli {

void PictureFlags::add(Options &options) {
  HelpSection section(options, "Inputs");
  options
      .add_option("--preprocess", preprocess,
                  "Take range, mean, deviation, channels and quantisation of pixels from the flags, or from what the "
                  "model's file states")
      ->check(CLI::IsMember({"flags", "model"}))
      ->capture_default_str();
  options
      .add_option("--fit", fit,
                  "Fit pictures: stretch them to the input, or resize the shorter side and crop the middle")
      ->check(CLI::IsMember({"stretch", "crop"}))
      ->capture_default_str();
  options.add_option("--resize", resize, "Set the shorter side before --fit crop, in pixels (default: the input's)")
      ->check(CLI::Range(1, 1 << 16));
  options
      .add_option(
          "--pixel-range", range,
          "Set the range of pixels before --mean and --std; auto: that of a quantised input if neither is given, else "
          "0..1")
      ->check(CLI::IsMember({"auto", "0..1", "-1..1", "0..255"}))
      ->capture_default_str();
  options.add_option("--mean", mean, "Subtract this from pixels: one number, or one a channel as 0.485,0.456,0.406")
      ->delimiter(',');
  options.add_option("--std", deviation, "Divide pixels by this after --mean: one number, or one a channel")
      ->delimiter(',');
  options.add_option("--channels", channels, "Set the order of channels: rgb or bgr")
      ->check(CLI::IsMember({"rgb", "bgr"}))
      ->capture_default_str();
  options
      .add_option("--input-layout", layout,
                  "Set the layout of the input: nchw, nhwc, or auto: where 3 or 1 channels stand")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}))
      ->capture_default_str();
  options.add_option("--input-scale", inputScale, "Quantise pixels for an integer input with this scale")
      ->check(CLI::PositiveNumber);
  options.add_option("--input-zero-point", inputZeroPoint, "Quantise pixels with this zero point (default: 0)");
  options.afterParse([this, &options] {
    if (preprocess == "model")
      options.refuse({"--pixel-range", "--mean", "--std", "--channels", "--input-scale", "--input-zero-point"},
                     "--preprocess model takes it from the model's file");
    for (const auto *values : {&mean, &deviation})
      require(values->empty() || values->size() == 1 || values->size() == 3,
              "{}: has {} numbers, expected one or one a channel (3)", values == &mean ? "--mean" : "--std",
              values->size());
    for (double value : mean)
      require(std::isfinite(value), "--mean: is {}, expected finite numbers", value);
    for (double value : deviation)
      require(value > 0 && std::isfinite(value), "--std: is {}, expected positive numbers", value);
    require(std::isfinite(inputScale), "--input-scale: is {}, expected a positive number", inputScale);
    if (fit != "crop")
      options.refuse({"--resize"}, "--fit stretch needs no other size");
    if (inputScale == 0)
      options.refuse({"--input-zero-point"}, "give --input-scale, too");
  });
}

PictureNotes PictureFlags::takeFrom(const std::string &model) {
  if (preprocess != "model")
    return {};
  require(!model.starts_with("zoo:") && !isPackage(model),
          "--preprocess model: {} does not state how pictures become inputs, expected an ONNX or TFLite file", model);
  PictureNotes notes = pictureNotes(model, 0);
  require(!notes.range.empty() || !notes.channels.empty(),
          "--preprocess model: {} states nothing of pictures; give --pixel-range, --mean and --std", model);
  apply(notes, model);
  return notes;
}

void PictureFlags::apply(const PictureNotes &notes, const std::string &model) {
  for (const auto *values : {&notes.mean, &notes.deviation})
    require(values->size() <= 1 || values->size() == 3, "{}: states {} numbers for the channels, expected one or 3",
            model, values->size());
  for (double value : notes.mean)
    require(std::isfinite(value), "{}: states the mean {}, expected finite numbers", model, value);
  for (double value : notes.deviation)
    require(value > 0 && std::isfinite(value), "{}: states the deviation {}, expected positive numbers", model, value);
  if (!notes.range.empty())
    range = notes.range;
  if (!notes.channels.empty())
    channels = notes.channels;
  mean = notes.mean;
  deviation = notes.deviation;
}

PictureFlags PictureFlags::forOther(const std::string &model) const {
  PictureFlags other = *this;
  if (preprocess != "model" || model.starts_with("zoo:") || isPackage(model) || std::filesystem::is_directory(model))
    return other;
  PictureNotes notes = pictureNotes(model, 0);
  if (!notes.range.empty() || !notes.channels.empty())
    other.apply(notes, model);
  return other;
}

namespace {

/// The real numbers that the least and the greatest element of an 8-bit input with one scale stand for; nothing for others.
std::optional<std::pair<double, double>> realRange(const runtime::Port &port) {
  if (!port.quantization || port.quantization->perChannel() ||
      (port.type != ElementType::u8 && port.type != ElementType::i8))
    return std::nullopt;
  double scale = port.quantization->scales[0], least = port.type == ElementType::i8 ? -128 : 0;
  least -= static_cast<double>(port.quantization->zeroPoints[0]);
  return std::pair(scale * least, scale * (least + 255));
}

} // namespace

void PictureFlags::takeRange(const runtime::Port &port, const std::string &model) {
  if (!followsInputs() || ofQuantised || inputScale != 0)
    return;
  ofQuantised = realRange(port);
  if (ofQuantised)
    decidedBy = fmt::format("input '{}' of {}", port.name, model);
}

std::pair<double, double> PictureFlags::pixelRange() const {
  if (followsInputs() && ofQuantised)
    return *ofQuantised;
  return {range == "-1..1" ? -1 : 0, range == "0..255" ? 255 : 1};
}

std::string PictureFlags::rangeText() const {
  if (!followsInputs() || !ofQuantised)
    return "";
  return fmt::format("pixels are {:.4g} to {:.4g}, as {} takes them\n", ofQuantised->first, ofQuantised->second,
                     printable(decidedBy));
}

evaluate::Preprocessing PictureFlags::of(const runtime::Port &port) const {
  std::vector<int64_t> dims;
  for (const Dim &dim : port.dims)
    dims.push_back(dim.evaluate([](const std::string &) { return int64_t(1); }));
  return of(port, dims);
}

evaluate::Preprocessing PictureFlags::of(const runtime::Port &port, const std::vector<int64_t> &dims) const {
  evaluate::Preprocessing how;
  require(dims.size() == 4 && dims[0] == 1, "input '{}' is {}, expected one picture: 1x3xHxW or 1xHxWx3", port.name,
          dimsText(dims));
  auto isChannels = [](int64_t extent) { return extent == 3 || extent == 1; };
  how.channelsLast = layout == "nhwc" || (layout == "auto" && !isChannels(dims[1]) && isChannels(dims[3]));
  size_t channelAt = how.channelsLast ? 3 : 1, heightAt = how.channelsLast ? 1 : 2;
  require(isChannels(dims[channelAt]), "input '{}' is {}, expected 3 or 1 channels", port.name, dimsText(dims));
  how.planes = dims[channelAt];
  how.height = dims[heightAt];
  how.width = dims[heightAt + 1];
  how.type = port.type;
  how.crop = fit == "crop";
  how.shorterSide = resize;
  how.reversed = channels == "bgr";
  std::tie(how.least, how.most) = pixelRange();
  for (size_t i = 0; i < 3; ++i) {
    how.mean[i] = mean.empty() ? 0 : mean[mean.size() == 1 ? 0 : i];
    how.deviation[i] = deviation.empty() ? 1 : deviation[deviation.size() == 1 ? 0 : i];
  }
  require(isFloat(port.type) || isInteger(port.type), "input '{}' is {}, expected numbers", port.name, name(port.type));
  how.scale = inputScale;
  how.zeroPoint = inputZeroPoint;
  // Pixels in the range of the input itself are its elements. Another input may have decided the range.
  auto own = realRange(port);
  bool elements = followsInputs() && own && (!ofQuantised || ofQuantised == own);
  if (isInteger(port.type) && inputScale == 0 && !elements)
    how.quantization = port.quantization;
  return how;
}

} // namespace lathe::cli
