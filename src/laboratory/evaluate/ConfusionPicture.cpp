#include "evaluate/ConfusionPicture.h"

#include "evaluate/Picture.h"
#include "support/PendingFile.h"
#include "support/Table.h"
#include "support/Text.h"

#include <algorithm>

namespace lathe::evaluate {
namespace {

/// The share of a class's pictures for which the model decided on `decision`.
double shareOf(const Confusion &confusion, size_t label, size_t decision) {
  size_t count = confusion.figures(label).count;
  return count ? static_cast<double>(confusion.of(label, decision)) / static_cast<double>(count) : 0;
}

/// The colour of a square, from white to dark blue.
std::array<uint8_t, 3> colourOf(double share) {
  constexpr std::array<double, 3> full{8, 48, 107};
  std::array<uint8_t, 3> colour{};
  for (size_t i = 0; i < 3; ++i)
    colour[i] = static_cast<uint8_t>(255 + (full[i] - 255) * share + 0.5);
  return colour;
}

/// Escapes printable text for XML, which allows neither U+FFFE nor U+FFFF.
std::string escaped(const std::string &plain) {
  std::string result;
  for (size_t i = 0; i < plain.size(); ++i) {
    char c = plain[i];
    if (plain.compare(i, 2, "\xef\xbf") == 0 && i + 2 < plain.size() && static_cast<uint8_t>(plain[i + 2]) >= 0xbe) {
      result += "\xef\xbf\xbd"; // U+FFFD, the replacement character
      i += 2;
      continue;
    }
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  }
  return result;
}

std::string labelOf(size_t index, const std::vector<std::string> &names) {
  constexpr size_t longest = 24; // characters
  return escaped(index < names.size() ? shortened(printable(names[index]), longest) : std::to_string(index));
}

Picture matrixPicture(const Confusion &confusion) {
  std::vector<size_t> present = confusion.present();
  auto count = static_cast<int64_t>(present.size());
  int64_t cell = std::clamp<int64_t>(640 / std::max<int64_t>(count, 1), 1, 32);
  Picture picture{count * cell, count * cell,
                  std::vector<uint8_t>(static_cast<size_t>(count * cell * count * cell * 3))};
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x) {
      auto colour =
          colourOf(shareOf(confusion, present[static_cast<size_t>(y / cell)], present[static_cast<size_t>(x / cell)]));
      std::copy(colour.begin(), colour.end(), picture.rgb.begin() + (y * picture.width + x) * 3);
    }
  return picture;
}

} // namespace

std::string confusionSvg(const Confusion &confusion, const std::vector<std::string> &names) {
  constexpr int cell = 28, margin = 180, half = cell / 2, text = 11;
  std::vector<size_t> present = confusion.present();
  int side = margin + cell * static_cast<int>(present.size()) + cell;
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{0}\" "
                                "font-family=\"sans-serif\" font-size=\"{1}\">\n"
                                "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
                                "<text x=\"{2}\" y=\"16\">decision</text><text x=\"8\" y=\"{2}\">class</text>\n",
                                side, text, margin);
  for (size_t i = 0; i < present.size(); ++i) {
    int at = margin + cell * static_cast<int>(i);
    std::string label = labelOf(present[i], names);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", margin - 6, at + half + 4, label);
    svg += fmt::format("<text transform=\"translate({},{}) rotate(-60)\">{}</text>\n", at + half, margin - 6, label);
    for (size_t j = 0; j < present.size(); ++j) {
      double share = shareOf(confusion, present[i], present[j]);
      auto [red, green, blue] = colourOf(share);
      int x = margin + cell * static_cast<int>(j);
      svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#{:02x}{:02x}{:02x}\" "
                         "stroke=\"#ddd\"/>\n",
                         x, at, cell, cell, red, green, blue);
      if (size_t count = confusion.of(present[i], present[j]))
        svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{}\">{}</text>\n", x + half,
                           at + half + 4, share > 0.5 ? "white" : "black", count);
    }
  }
  return svg + "</svg>\n";
}

void writeConfusion(const std::string &path, const Confusion &confusion, const std::vector<std::string> &names) {
  if (path.ends_with(".png"))
    return writePng(path, matrixPicture(confusion));
  require(path.ends_with(".svg"), "{}: is no name of a picture, expected one that ends in .svg or .png", path);
  PendingFile file(path);
  file.write(confusionSvg(confusion, names));
  file.commit();
}

} // namespace lathe::evaluate
