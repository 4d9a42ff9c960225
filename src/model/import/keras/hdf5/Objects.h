// Converts groups, attributes and datasets of an HDF5 file to records of import/keras/Hdf5Form.h.
#pragma once

#include "import/keras/Hdf5Form.h"
#include "support/Error.h"

#include <functional>
#include <set>
#include <span>
#include <string>

namespace lathe::keras::hdf5 {

/// Collects records and passes them to `write` in pieces of one megabyte. Throws Error if they have more than `most`
/// bytes in total.
class Output {
public:
  Output(std::function<void(std::string_view)> write, uint64_t most) : write(std::move(write)), left(most) {}

  void tag(char letter);
  void u32(uint64_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void text(std::string_view value);
  void bytes(std::string_view value);
  /// Throws Error unless `count` more bytes fit; `what` names their purpose.
  void expect(uint64_t count, const std::string &what) const;
  /// Writes the end record, which follows all other records.
  void finish();

private:
  std::function<void(std::string_view)> write;
  std::string buffer;
  uint64_t left, records = 0;

  void number(uint64_t value, size_t size) { bytes({reinterpret_cast<const char *>(&value), size}); }
  void flush();
};

/// Writes the records of the HDF5 file whose content is `bytes`, without the top-level objects named in `skipped`.
/// Throws Error for content that is damaged or not accepted.
void readFile(std::string bytes, const std::set<std::string> &skipped, Output &output);

} // namespace lathe::keras::hdf5
