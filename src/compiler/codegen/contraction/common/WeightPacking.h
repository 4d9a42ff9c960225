// Parts of the packings of constant weights. A packing stores weights in the order in which the code of an algorithm
// reads them.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/AddedOperands.h"

#include <cstring>

namespace lathe {

/// Reads the elements of constant weights and writes them as elements of units (codegen/space/ContractionFormat.h).
class PackedElements {
public:
  PackedElements(const nn::ConstantData &data, const ContractionFormat &format)
      : data(data), format(format), size(bitWidth(data.type) / 8) {}

  /// Writes element `index` of the constant to step `step` of the unit at `unit`.
  void write(int64_t index, char *unit, int64_t step = 0) const {
    const char *from = data.bytes.data() + (data.splat ? 0 : index * size);
    if (format.converts)
      format.write(from, data.type, unit + step * format.elementBytes());
    else
      std::memcpy(unit, from, size);
  }

private:
  const nn::ConstantData &data;
  const ContractionFormat &format;
  int64_t size;
};

/// `count` sums of weights, for contraction formats that subtract multiples of them from results.
class PackedSums {
public:
  PackedSums(const nn::ConstantData &data, const ContractionFormat &format, int64_t count)
      : data(data), size(bitWidth(data.type) / 8), sums(format.correctsSums() || addsOperands(format) ? count : 0) {}

  /// Adds element `index` of the constant to sum number `sum`.
  void add(int64_t sum, int64_t index) {
    if (!sums.empty())
      sums[sum] += number(index);
  }
  /// Subtracts the product of the elements `index` and `other` from a sum.
  void takeProduct(int64_t sum, int64_t index, int64_t other) { sums[sum] -= number(index) * number(other); }
  void appendTo(std::vector<char> &packed) const {
    auto *bytes = reinterpret_cast<const char *>(sums.data());
    packed.insert(packed.end(), bytes, bytes + sums.size() * sizeof(int32_t));
  }

private:
  int32_t number(int64_t index) const { return static_cast<int8_t>(data.bytes[data.splat ? 0 : index * size]); }

  const nn::ConstantData &data;
  int64_t size;
  std::vector<int32_t> sums;
};

/// Part of a packing's text that names the format; empty for formats that do not convert, because they store the same
/// bytes.
inline std::string suffix(const ContractionFormat &format) {
  return format.converts ? fmt::format(" {}", format.name) : std::string();
}

} // namespace lathe
