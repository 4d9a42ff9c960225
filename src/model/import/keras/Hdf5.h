// The content of an HDF5 file, which the program lathe-read-hdf5 reads under limits of memory, time and size.
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::keras {

/// An attribute or a dataset of an HDF5 file.
struct Hdf5Array {
  ElementType type = ElementType::invalid; // element type; invalid: Lathe does not have the file's type
  std::vector<int64_t> dims;
  std::string_view bytes;                // elements in row-major order; the address is not aligned
  std::vector<std::string_view> strings; // elements if they are strings
};

class Hdf5File {
public:
  /// Reads an HDF5 file without its top-level objects `skipped`. Throws Error, which begins with `fileName`, for a
  /// damaged file, for references to other files, and if the program lathe-read-hdf5 crashes or exceeds a limit.
  Hdf5File(std::string_view bytes, const std::string &fileName, const std::set<std::string> &skipped);

  bool hasGroup(const std::string &path) const { return groups.contains(path); }
  /// The dataset at `path`; null if there is none.
  const Hdf5Array *dataset(const std::string &path) const;
  const Hdf5Array *attribute(const std::string &path, const std::string &name) const;
  /// An attribute that is one string; nothing if the object has no such attribute.
  std::optional<std::string> text(const std::string &path, const std::string &name) const;
  /// An attribute that is a list of strings. Keras 2 splits long lists into NAME0, NAME1, ...
  std::vector<std::string> texts(const std::string &path, const std::string &name) const;
  /// Paths of datasets below the group `path`, in alphabetical order.
  std::vector<std::string> datasetsBelow(const std::string &path) const;
  const std::string &name() const { return fileName; }

private:
  std::string fileName, content;
  std::set<std::string> groups;
  // by path of the object and name of the attribute
  std::map<std::pair<std::string, std::string>, Hdf5Array> attributes;
  std::map<std::string, Hdf5Array> datasets;

  void parse();
};

} // namespace lathe::keras
