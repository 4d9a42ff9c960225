#include "evaluate/Picture.h"

#include "runtime/QuantizedTensor.h"
#include "support/PendingFile.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

// One library for all formats: public domain, one header, in Debian as libstb-dev.
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

namespace lathe::evaluate {
namespace {

constexpr int64_t mostPixels = int64_t(1) << 28;

std::string extensionOf(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

Picture fitted(const Picture &picture, const Preprocessing &how) {
  if (!how.crop)
    return resized(picture, how.width, how.height);
  // The factor that gives the shorter side its length, or the smallest factor with which the picture covers the input.
  double factor = how.shorterSide ? static_cast<double>(how.shorterSide) /
                                        static_cast<double>(std::min(picture.width, picture.height))
                                  : std::max(static_cast<double>(how.width) / static_cast<double>(picture.width),
                                             static_cast<double>(how.height) / static_cast<double>(picture.height));
  auto scaled = [&](int64_t side, int64_t least) {
    return std::max<int64_t>(std::llround(static_cast<double>(side) * factor), how.shorterSide ? 1 : least);
  };
  Picture whole = resized(picture, scaled(picture.width, how.width), scaled(picture.height, how.height));
  require(whole.width >= how.width && whole.height >= how.height,
          "--resize {}: makes a picture of {}x{}, expected at least the input's {}x{}", how.shorterSide, whole.width,
          whole.height, how.width, how.height);
  return cropped(whole, (whole.width - how.width) / 2, (whole.height - how.height) / 2, how.width, how.height);
}

double pixelOf(const uint8_t *rgb, int64_t plane, const Preprocessing &how) {
  constexpr double red = 0.299, green = 0.587, blue = 0.114; // luminance of ITU-R BT.601
  if (how.planes == 1)
    return red * rgb[0] + green * rgb[1] + blue * rgb[2];
  return rgb[how.reversed ? 2 - plane : plane];
}

/// The value of one element before conversion to its type.
double valueOf(double pixel, int64_t plane, const Preprocessing &how) {
  auto i = static_cast<size_t>(plane);
  return (how.least + (how.most - how.least) * pixel / 255 - how.mean[i]) / how.deviation[i];
}

double integerOf(double pixel, double value, const Preprocessing &how) {
  double bits = bitWidth(how.type), least = isSignedInteger(how.type) ? -std::exp2(bits - 1) : 0;
  double rounded = how.scale > 0 ? std::nearbyint(value / how.scale) + static_cast<double>(how.zeroPoint)
                                 : std::nearbyint(pixel) + (how.type == ElementType::i8 ? least : 0);
  return std::clamp(rounded, least, least + std::exp2(bits) - 1);
}

/// Width and height in the header of a PNG file; 0 for other files. stb reports a PNG file that is too large as not a
/// picture.
std::pair<uint32_t, uint32_t> pngExtents(const std::string &path) {
  std::array<char, 24> header{}; // signature, length and name of the first chunk, width, height
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), header.size());
  if (!file || std::string_view(header.data(), 8) != "\x89PNG\r\n\x1a\n" || std::string_view(&header[12], 4) != "IHDR")
    return {0, 0};
  auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i)
      value = value << 8 | static_cast<uint8_t>(header[at + i]);
    return value;
  };
  return {number(16), number(20)};
}

void requirePixels(const std::string &path, int64_t width, int64_t height) {
  require(width >= 0 && (height == 0 || width <= mostPixels / height), "{}: is {}x{}, expected at most {} pixels", path,
          width, height, mostPixels);
}

} // namespace

bool isPicture(const std::string &path) {
  std::string extension = extensionOf(path);
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg" || extension == ".bmp";
}

Picture readPicture(const std::string &path) {
  int width = 0, height = 0, channels = 0;
  require(std::ifstream(path).good(), "{}: cannot be read", path);
  auto [pngWidth, pngHeight] = pngExtents(path);
  requirePixels(path, pngWidth, pngHeight);
  require(stbi_info(path.c_str(), &width, &height, &channels) != 0, "{}: is no picture: {}, expected PNG, JPEG or BMP",
          path, stbi_failure_reason());
  requirePixels(path, width, std::abs(int64_t(height))); // a BMP file whose top row comes first has a negative height
  std::unique_ptr<uint8_t, decltype(&stbi_image_free)> pixels(stbi_load(path.c_str(), &width, &height, &channels, 3),
                                                              &stbi_image_free);
  require(pixels != nullptr, "{}: is no picture: {}, expected PNG, JPEG or BMP", path, stbi_failure_reason());
  return {width, height, {pixels.get(), pixels.get() + int64_t(width) * height * 3}};
}

void writePng(const std::string &path, const Picture &picture) {
  PendingFile file(path);
  auto append = [](void *target, void *data, int size) {
    static_cast<PendingFile *>(target)->write(static_cast<const char *>(data), static_cast<size_t>(size));
  };
  int width = static_cast<int>(picture.width), height = static_cast<int>(picture.height);
  require(stbi_write_png_to_func(append, &file, width, height, 3, picture.rgb.data(), width * 3) != 0,
          "{}: the picture could not be encoded", path);
  file.commit();
}

Picture cropped(const Picture &picture, int64_t x, int64_t y, int64_t width, int64_t height) {
  require(x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= picture.width && y + height <= picture.height,
          "internal: a part outside of a picture is cut");
  Picture part{width, height, {}};
  for (int64_t row = y; row < y + height; ++row) {
    const uint8_t *begin = picture.rgb.data() + (row * picture.width + x) * 3;
    part.rgb.insert(part.rgb.end(), begin, begin + width * 3);
  }
  return part;
}

Picture resized(const Picture &picture, int64_t width, int64_t height) {
  if (width == picture.width && height == picture.height)
    return picture;
  struct Span {
    int64_t begin, end;
  };
  auto spans = [](int64_t from, int64_t to) {
    std::vector<Span> result;
    for (int64_t i = 0; i < to; ++i) {
      int64_t begin = i * from / to;
      result.push_back({begin, std::max(begin + 1, ((i + 1) * from + to - 1) / to)});
    }
    return result;
  };
  std::vector<Span> columns = spans(picture.width, width), rows = spans(picture.height, height);
  Picture result{width, height, std::vector<uint8_t>(static_cast<size_t>(width * height * 3))};
  uint8_t *out = result.rgb.data();
  for (const Span &row : rows)
    for (const Span &column : columns)
      for (int channel = 0; channel < 3; ++channel) {
        int64_t sum = 0, count = (row.end - row.begin) * (column.end - column.begin);
        for (int64_t y = row.begin; y < row.end; ++y)
          for (int64_t x = column.begin; x < column.end; ++x)
            sum += picture.rgb[static_cast<size_t>((y * picture.width + x) * 3 + channel)];
        *out++ = static_cast<uint8_t>((2 * sum + count) / (2 * count));
      }
  return result;
}

Tensor preprocess(const Picture &picture, const Preprocessing &how) {
  if (how.quantization) {
    Preprocessing real = how;
    real.type = ElementType::f32;
    real.quantization.reset();
    return quantized(*how.quantization, preprocess(picture, real), how.type);
  }
  Picture fit = fitted(picture, how);
  Tensor numbers(isFloat(how.type) ? ElementType::f32 : ElementType::i32,
                 how.channelsLast ? std::vector<int64_t>{1, how.height, how.width, how.planes}
                                  : std::vector<int64_t>{1, how.planes, how.height, how.width});
  const int64_t pixels = how.width * how.height;
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t plane = 0; plane < how.planes; ++plane) {
      double pixel = pixelOf(fit.rgb.data() + i * 3, plane, how), value = valueOf(pixel, plane, how);
      int64_t at = how.channelsLast ? i * how.planes + plane : plane * pixels + i;
      if (isFloat(how.type))
        numbers.as<float>()[at] = static_cast<float>(value);
      else
        numbers.as<int32_t>()[at] = static_cast<int32_t>(integerOf(pixel, value, how));
    }
  return numbers.convertedTo(how.type);
}

} // namespace lathe::evaluate
