// The real numbers that the elements of an integer tensor represent, and their text form in models and plans.
#pragma once

#include "support/Error.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// The quantisation of a tensor: real = scale * (element - zero point). There is one scale and zero point for the
/// tensor, or one of each for every index of `axis`.
struct Quantization {
  std::vector<float> scales;
  std::vector<int64_t> zeroPoints; // zero points, one for each scale
  int64_t axis = 0;
  bool perChannel() const { return scales.size() > 1; }
  bool operator==(const Quantization &other) const = default;

  /// The quantisation as text: "0.5 * (q - 3)", or by channel "0.5 * (q - 3), 0.25 * (q - 0) along axis 1". Floats
  /// have the fewest digits that read back as the same number.
  std::string str() const {
    std::string text;
    for (size_t i = 0; i < scales.size(); ++i)
      text += fmt::format("{}{} * (q - {})", i ? ", " : "", scales[i], zeroPoints[i]);
    return perChannel() ? text + fmt::format(" along axis {}", axis) : text;
  }

  /// Parses the text that `str` makes. Throws Error for any other text, and for a scale that is not a positive number.
  static Quantization parse(const std::string &text) {
    std::string_view rest = text;
    auto word = [&](std::string_view expected) {
      bool found = rest.starts_with(expected);
      rest.remove_prefix(found ? expected.size() : 0);
      return found;
    };
    auto number = [&](auto &value) {
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      rest.remove_prefix(static_cast<size_t>(end - rest.data()));
      return error == std::errc();
    };
    Quantization result;
    bool good = true;
    do {
      float scale = 0;
      int64_t zero = 0;
      good = number(scale) && word(" * (q - ") && number(zero) && word(")") && std::isfinite(scale) && scale > 0;
      result.scales.push_back(scale);
      result.zeroPoints.push_back(zero);
    } while (good && word(", "));
    if (good && result.perChannel())
      good = word(" along axis ") && number(result.axis) && result.axis >= 0;
    require(good && rest.empty(), "quantisation is '{}', expected 'SCALE * (q - ZERO)', or several 'along axis AXIS'",
            text.size() > 80 ? text.substr(0, 80) + "..." : text);
    return result;
  }
};

} // namespace lathe
