// Reads the tensor bundle of a TensorFlow checkpoint: variables.index locates each tensor in
// variables.data-00000-of-0000N.
#pragma once

#include "import/Records.h"
#include "import/tensorflow/tensorflow.pb.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>

namespace lathe::tensorflow {

/// The tensor bundle of a checkpoint. Create it with std::make_shared: its tensors keep it alive.
class Bundle : public std::enable_shared_from_this<Bundle> {
public:
  /// Reads the index `prefix`.index of the bundle. Throws Error that begins with the name of the file.
  explicit Bundle(const std::filesystem::path &prefix);

  bool has(const std::string &key) const { return entries.contains(key); }
  std::set<std::string> keys() const;
  /// The tensor with the key `key`, called `name`. Its data and checksum are read on demand. Throws Error if there is
  /// no such tensor.
  source::TensorRecord tensor(const std::string &key, const std::string &name) const;
  /// Maps full names of variables to keys of the bundle, for checkpoints with a graph of objects; a name with several
  /// keys maps to "".
  std::map<std::string, std::string> keysOfVariables() const;

private:
  std::filesystem::path prefix;
  std::map<std::string, file::BundleEntryProto> entries;
  int shards = 1;

  std::string indexName() const { return prefix.string() + ".index"; }
  const file::BundleEntryProto &entry(const std::string &key) const;
  std::string bytesOf(const file::BundleEntryProto &entry, const std::string &what) const;
  void read(const file::BundleEntryProto &entry, const std::string &key, source::TensorData &data,
            const std::string &what) const;
  void readSlices(const file::BundleEntryProto &whole, const std::string &key, source::TensorData &data,
                  const std::string &what) const;
};

} // namespace lathe::tensorflow
