// The safetensors file format: a JSON header that names typed byte ranges, then the bytes.
#pragma once

#include "support/ElementType.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class MemoryBuffer;
}

namespace lathe {

class PendingFile;

class Safetensors {
public:
  struct Entry {
    std::string name, dtype;
    std::vector<int64_t> dims;
    size_t begin = 0, end = 0; // byte range of the entry in the data

    /// True if the entry's dtype fits elements of `type`: it is the name of that type in the format, or U8 (bytes) for
    /// a type that has no name there.
    bool typeFits(ElementType type) const;
  };

  /// True if the safetensors format has a name for the type; elements of other types are stored as bytes.
  static bool hasType(ElementType type);
  /// Maps a safetensors file into memory and reads its header. Throws Error if header and file do not agree.
  static Safetensors open(const std::string &path);
  const std::vector<Entry> &entries() const { return list; }
  std::string_view bytes(const Entry &entry) const { return data.substr(entry.begin, entry.end - entry.begin); }

private:
  std::vector<Entry> list;
  std::shared_ptr<llvm::MemoryBuffer> file;
  std::string_view data;
};

class SafetensorsWriter {
public:
  /// Adds an entry to the file that `write` will write. `bytes` must live until then.
  void add(const std::string &name, ElementType type, const std::vector<int64_t> &dims, std::string_view bytes);
  /// Writes a safetensors file with all added entries. Returns its number of bytes.
  uint64_t write(PendingFile &file) const;

private:
  struct Item {
    std::string name;
    ElementType type;
    std::vector<int64_t> dims;
    std::string_view bytes;
  };
  std::vector<Item> items;
};

} // namespace lathe
