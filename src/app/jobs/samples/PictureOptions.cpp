#include "jobs/samples/PictureOptions.h"

#include "jobs/Inputs.h"
#include "jobs/ModelOptions.h"
#include "support/Text.h"

#include <cmath>
#include <filesystem>
#include <tuple>

namespace lathe::jobs {

PictureNotes PictureOptions::takeFrom(const std::string &model) {
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

void PictureOptions::apply(const PictureNotes &notes, const std::string &model) {
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

PictureOptions PictureOptions::forOther(const std::string &model) const {
  PictureOptions other = *this;
  if (preprocess != "model" || model.starts_with("zoo:") || isPackage(model) || std::filesystem::is_directory(model))
    return other;
  PictureNotes notes = pictureNotes(model, 0);
  if (!notes.range.empty() || !notes.channels.empty())
    other.apply(notes, model);
  return other;
}

namespace {

/// The real numbers for the least and the greatest element of an 8-bit input with one scale; nothing for other inputs.
std::optional<std::pair<double, double>> realRange(const runtime::Port &port) {
  if (!port.quantization || port.quantization->perChannel() ||
      (port.type != ElementType::u8 && port.type != ElementType::i8))
    return std::nullopt;
  double scale = port.quantization->scales[0], least = port.type == ElementType::i8 ? -128 : 0;
  least -= static_cast<double>(port.quantization->zeroPoints[0]);
  return std::pair(scale * least, scale * (least + 255));
}

} // namespace

void PictureOptions::takeRange(const runtime::Port &port, const std::string &model) {
  if (!followsInputs() || ofQuantised || inputScale != 0)
    return;
  ofQuantised = realRange(port);
  if (ofQuantised)
    decidedBy = fmt::format("input '{}' of {}", port.name, model);
}

std::pair<double, double> PictureOptions::pixelRange() const {
  if (followsInputs() && ofQuantised)
    return *ofQuantised;
  return {range == "-1..1" ? -1 : 0, range == "0..255" ? 255 : 1};
}

std::string PictureOptions::rangeText() const {
  if (!followsInputs() || !ofQuantised)
    return "";
  return fmt::format("pixels are {:.4g} to {:.4g}, as {} takes them\n", ofQuantised->first, ofQuantised->second,
                     printable(decidedBy));
}

evaluate::Preprocessing PictureOptions::of(const runtime::Port &port) const {
  std::vector<int64_t> dims;
  for (const Dim &dim : port.dims)
    dims.push_back(dim.evaluate([](const std::string &) { return int64_t(1); }));
  return of(port, dims);
}

evaluate::Preprocessing PictureOptions::of(const runtime::Port &port, const std::vector<int64_t> &dims) const {
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
  // If the pixels have the range of this input, they are its elements. The range may come from another input.
  auto own = realRange(port);
  bool elements = followsInputs() && own && (!ofQuantised || ofQuantised == own);
  if (isInteger(port.type) && inputScale == 0 && !elements)
    how.quantization = port.quantization;
  return how;
}

} // namespace lathe::jobs
