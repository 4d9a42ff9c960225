#include "cli/flags/PictureFlags.h"

#include <cmath>

namespace lathe::cli {

void addPictures(Options &options, PictureOptions &how) {
  HelpSection section(options, "Inputs");
  options
      .add_option("--preprocess", how.preprocess,
                  "Take range, mean, deviation, channels and quantisation of pixels from the flags, or from what the "
                  "model's file states")
      ->check(CLI::IsMember({"flags", "model"}))
      ->capture_default_str();
  options
      .add_option("--fit", how.fit,
                  "Fit pictures: stretch them to the input, or resize the shorter side and crop the middle")
      ->check(CLI::IsMember({"stretch", "crop"}))
      ->capture_default_str();
  options
      .add_option("--resize", how.resize, "Set the shorter side before --fit crop, in pixels (default: the input's)")
      ->check(CLI::Range(1, 1 << 16));
  options
      .add_option(
          "--pixel-range", how.range,
          "Set the range of pixels before --mean and --std; auto: that of a quantised input if neither is given, else "
          "0..1")
      ->check(CLI::IsMember({"auto", "0..1", "-1..1", "0..255"}))
      ->capture_default_str();
  options
      .add_option("--mean", how.mean, "Subtract this from pixels: one number, or one a channel as 0.485,0.456,0.406")
      ->delimiter(',');
  options.add_option("--std", how.deviation, "Divide pixels by this after --mean: one number, or one a channel")
      ->delimiter(',');
  options.add_option("--channels", how.channels, "Set the order of channels: rgb or bgr")
      ->check(CLI::IsMember({"rgb", "bgr"}))
      ->capture_default_str();
  options
      .add_option("--input-layout", how.layout,
                  "Set the layout of the input: nchw, nhwc, or auto: where 3 or 1 channels stand")
      ->check(CLI::IsMember({"auto", "nchw", "nhwc"}))
      ->capture_default_str();
  options.add_option("--input-scale", how.inputScale, "Quantise pixels for an integer input with this scale")
      ->check(CLI::PositiveNumber);
  options.add_option("--input-zero-point", how.inputZeroPoint, "Quantise pixels with this zero point (default: 0)");
  options.afterParse([&] {
    if (how.preprocess == "model")
      options.refuse({"--pixel-range", "--mean", "--std", "--channels", "--input-scale", "--input-zero-point"},
                     "--preprocess model takes it from the model's file");
    for (const auto *values : {&how.mean, &how.deviation})
      require(values->empty() || values->size() == 1 || values->size() == 3,
              "{}: has {} numbers, expected one or one a channel (3)", values == &how.mean ? "--mean" : "--std",
              values->size());
    for (double value : how.mean)
      require(std::isfinite(value), "--mean: is {}, expected finite numbers", value);
    for (double value : how.deviation)
      require(value > 0 && std::isfinite(value), "--std: is {}, expected positive numbers", value);
    require(std::isfinite(how.inputScale), "--input-scale: is {}, expected a positive number", how.inputScale);
    if (how.fit != "crop")
      options.refuse({"--resize"}, "--fit stretch needs no other size");
    if (how.inputScale == 0)
      options.refuse({"--input-zero-point"}, "give --input-scale, too");
  });
}

void addData(Options &options, DataOptions &data, const std::string &dataHelp) {
  HelpSection section(options, "Inputs");
  options.add_option("--data", data.data, dataHelp)->type_name("DIR|F.csv|F.npz");
  options.add_option("--labels", data.labels, "Read the names of the classes from FILE, one a line")->type_name("FILE");
  options.add_flag("--skip-unreadable", data.skipUnreadable,
                   "Leave out pictures that cannot be read, and name them, instead of ending with an error");
  options
      .add_option(
          "--random-crops", data.crops,
          "Classify this many random crops in all, instead of whole pictures; a crop has at least half of each side")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  options.reads([&] { return std::vector<std::string>{data.labels}; });
}

} // namespace lathe::cli
