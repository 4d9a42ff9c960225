// NumPy's file formats: .npy (one array) and .npz (a zip archive of arrays).
//
// Reading accepts versions 1 to 3, C and Fortran order, either byte order, and stored or deflated
// archive members; the result is row-major and little-endian. bf16, for which NumPy has no type, is
// stored as ml_dtypes does (two-byte void, "<V2"). 8-bit floats and 4-bit integers are rejected. A
// malformed file is an Error that names the file.
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct NpyArray {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  std::vector<char> data;           // elements in row-major order, little-endian; booleans are 0 or 1
  std::vector<std::string> strings; // elements in UTF-8 if the type is ElementType::string; `data` is then empty
};

struct NpzMember {
  std::string name; // name of the member without ".npy"
  NpyArray array;
};

/// An array to write to a .npy file. `data` is row-major and little-endian; for strings it points at std::string
/// elements in UTF-8.
struct NpyView {
  ElementType type;
  std::span<const int64_t> dims;
  const void *data;
};

/// The element type and extents of an array, which the header of its .npy file gives.
struct NpyHeader {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
};

/// Function that decides which members of an .npz archive are read: returns true for a member to read. It is called
/// with the name (without ".npy") and the header of each member before the member is unpacked, and may throw Error. An
/// empty function means that every member is read.
using NpzWanted = std::function<bool(const std::string &name, const NpyHeader &header)>;

NpyArray readNpy(const std::string &path);
std::vector<NpzMember> readNpz(const std::string &path, const NpzWanted &wanted = {});
/// Parse an .npy (.npz) file from memory. Messages use `name` as the name of the file.
NpyArray parseNpy(std::span<const char> bytes, const std::string &name);
std::vector<NpzMember> parseNpz(std::span<const char> bytes, const std::string &name, const NpzWanted &wanted = {});
/// Reads the header of a .npy file of `fileBytes` bytes from its first bytes, `beginning`. Throws Error if the header
/// describes an array of another size, or if memory is too small for the file.
NpyHeader parseNpyHeader(std::span<const char> beginning, uint64_t fileBytes, const std::string &name);
/// Number of bytes at the beginning of a .npy file that suffice for `parseNpyHeader`.
constexpr size_t mostNpyHeaderBytes = 12 + 65535;

/// Returns the bytes of a .npy file: header and data. Throws Error for an element type that NumPy does not have.
std::vector<char> npyBytes(const NpyView &view);
void writeNpy(const std::string &path, const NpyView &view);

struct NpzEntry {
  /// Name of the array in the archive, any text: writeNpz makes it safe (memberNames of support/zip/ArrayNames.h) and
  /// adds ".npy".
  std::string name;
  NpyView view;
};
/// Writes arrays as a stored (not deflated) .npz archive. Each member and the whole archive must be below 4 GiB.
void writeNpz(const std::string &path, std::span<const NpzEntry> entries);

} // namespace lathe
