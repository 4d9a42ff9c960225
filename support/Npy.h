// NumPy's file formats: .npy (one array) and .npz (a zip archive of them).
//
// Reading takes versions 1 to 3, C and Fortran order, either byte order, stored and deflated archive members, and gives
// row-major little-endian data. What NumPy has no type for: bf16 is stored as ml_dtypes does (two-byte void, "<V2");
// 8-bit floats and 4-bit integers are refused. Every malformed file is an Error that names it.
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct NpyArray {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  std::vector<char> data;           // row-major, little-endian; booleans are 0 or 1
  std::vector<std::string> strings; // instead of data for ElementType::string, as UTF-8
};

struct NpzMember {
  std::string name; // without ".npy"
  NpyArray array;
};

/// What is written: `data` is row-major and little-endian; strings are not written.
struct NpyView {
  ElementType type;
  std::span<const int64_t> dims;
  const void *data;
};

NpyArray readNpy(const std::string &path);
std::vector<NpzMember> readNpz(const std::string &path);
/// The same from memory; `name` stands for the file in messages.
NpyArray parseNpy(std::span<const char> bytes, const std::string &name);
std::vector<NpzMember> parseNpz(std::span<const char> bytes, const std::string &name);

/// Header and data; throws Error for an element type NumPy has no counterpart of.
std::vector<char> npyBytes(const NpyView &view);
void writeNpy(const std::string &path, const NpyView &view);

struct NpzEntry {
  std::string name; // made a path that stays below a folder (support/ArrayNames.h), ".npy" is added
  NpyView view;
};
/// A stored (not deflated) archive; each member must be below 4 GiB and so must the whole.
void writeNpz(const std::string &path, std::span<const NpzEntry> entries);

} // namespace lathe
