#include "import/keras/hdf5/Objects.h"

#include <hdf5.h>

#include <cstring>
#include <memory>
#include <vector>

namespace lathe::keras::hdf5 {
namespace {

/// An open identifier of the library.
class Handle {
public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string &what) : id(id), close(close) {
    require(id >= 0, "is damaged: {} cannot be read", what);
  }
  ~Handle() { close(id); }
  Handle(const Handle &) = delete;
  operator hid_t() const { return id; }

private:
  hid_t id;
  herr_t (*close)(hid_t);
};

/// The name of an element type in the form; "" for types without one.
std::string typeName(hid_t type) {
  size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
  case H5T_INTEGER: {
    if (size != 1 && size != 2 && size != 4 && size != 8)
      return "";
    return (H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "i") + std::to_string(8 * size);
  }
  case H5T_FLOAT:
    return size == 8 ? "f64" : size == 4 || size == 2 ? "f32" : ""; // 16-bit floats are read as 32 bits
  case H5T_ENUM:
    return size == 1 ? "bool" : ""; // h5py writes booleans like this
  case H5T_STRING:
    return "string";
  case H5T_OPAQUE:
    return size == 2 ? "bf16" : ""; // Keras writes this type, because NumPy has no bfloat16
  default:
    return "";
  }
}

/// The type in memory of elements with a name.
hid_t memoryType(hid_t type, const std::string &name) {
  if (name == "f32")
    return H5Tcopy(H5T_NATIVE_FLOAT);
  if (name == "string" || name == "bf16" || name == "bool")
    return H5Tcopy(type);
  return H5Tget_native_type(type, H5T_DIR_ASCEND);
}

/// The common part of an attribute and a dataset.
struct Array {
  std::string what; // for messages
  hid_t type, space;
  std::function<herr_t(hid_t memory, void *buffer)> read;
};

class Reader {
public:
  Reader(Output &output, const std::set<std::string> &skipped) : output(output), skipped(skipped) {}

  void group(hid_t group, const std::string &path, int depth) {
    require(depth < mostNested, "has groups nested more than {} deep", mostNested);
    output.tag('g');
    output.text(path);
    attributes(group, path);
    H5G_info_t info;
    require(H5Gget_info(group, &info) >= 0, "is damaged: group '{}' cannot be read", path);
    require(info.nlinks <= mostRecords, "is damaged: group '{}' claims {} members", path, info.nlinks);
    for (hsize_t i = 0; i < info.nlinks; ++i)
      member(group, path, i, depth);
  }

private:
  Output &output;
  const std::set<std::string> &skipped;
  std::set<haddr_t> seen; // groups that were read, so that links form no circles

  void member(hid_t parent, const std::string &path, hsize_t index, int depth) {
    ssize_t length = H5Lget_name_by_idx(parent, ".", H5_INDEX_NAME, H5_ITER_INC, index, nullptr, 0, H5P_DEFAULT);
    require(length >= 0 && length < (1 << 16), "is damaged: a member of group '{}' has no name", path);
    std::string name(static_cast<size_t>(length) + 1, '\0');
    H5Lget_name_by_idx(parent, ".", H5_INDEX_NAME, H5_ITER_INC, index, name.data(), name.size(), H5P_DEFAULT);
    name.resize(static_cast<size_t>(length));
    if (depth == 0 && skipped.contains(name))
      return;
    std::string whole = path + (path == "/" ? "" : "/") + name;
    H5L_info_t link;
    require(H5Lget_info_by_idx(parent, ".", H5_INDEX_NAME, H5_ITER_INC, index, &link, H5P_DEFAULT) >= 0,
            "is damaged: member '{}' cannot be read", whole);
    require(link.type == H5L_TYPE_HARD, "member '{}' is {} link, which is refused: a model is in one file", whole,
            link.type == H5L_TYPE_EXTERNAL ? "an external" : "a soft");
    Handle object(H5Oopen(parent, name.c_str(), H5P_DEFAULT), H5Oclose, "member '" + whole + "'");
    H5O_info_t info;
    require(H5Oget_info2(object, &info, H5O_INFO_BASIC) >= 0, "is damaged: member '{}' cannot be read", whole);
    if (info.type == H5O_TYPE_GROUP) {
      require(seen.insert(info.addr).second, "group '{}' has two names, which is refused", whole);
      group(object, whole, depth + 1);
    } else if (info.type == H5O_TYPE_DATASET) {
      dataset(object, whole);
    }
  }

  void dataset(hid_t object, const std::string &path) {
    std::string what = "dataset '" + path + "'";
    Handle creation(H5Dget_create_plist(object), H5Pclose, what);
    require(H5Pget_external_count(creation) == 0 && H5Pget_layout(creation) != H5D_VIRTUAL,
            "{} has its data in another file, which is refused", what);
    Handle type(H5Dget_type(object), H5Tclose, what), space(H5Dget_space(object), H5Sclose, what);
    output.tag('d');
    output.text(path);
    array({what, type, space,
           [&](hid_t memory, void *buffer) { return H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer); }});
    attributes(object, path);
  }

  void attributes(hid_t object, const std::string &path) {
    H5O_info_t info;
    require(H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) >= 0, "is damaged: '{}' cannot be read", path);
    require(info.num_attrs <= mostRecords, "is damaged: '{}' claims {} attributes", path, info.num_attrs);
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
      Handle attribute(H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                       "an attribute of '" + path + "'");
      ssize_t length = H5Aget_name(attribute, 0, nullptr);
      require(length >= 0 && length < (1 << 16), "is damaged: an attribute of '{}' has no name", path);
      std::string name(static_cast<size_t>(length) + 1, '\0');
      H5Aget_name(attribute, name.size(), name.data());
      name.resize(static_cast<size_t>(length));
      std::string what = "attribute '" + name + "' of '" + path + "'";
      Handle type(H5Aget_type(attribute), H5Tclose, what), space(H5Aget_space(attribute), H5Sclose, what);
      output.tag('a');
      output.text(path);
      output.text(name);
      array({what, type, space, [&](hid_t memory, void *buffer) { return H5Aread(attribute, memory, buffer); }});
    }
  }

  void array(const Array &source) {
    std::string name = typeName(source.type);
    int rank = H5Sget_simple_extent_ndims(source.space);
    require(rank >= 0 && rank <= H5S_MAX_RANK, "is damaged: {} has no extents", source.what);
    std::vector<hsize_t> extents(static_cast<size_t>(rank));
    H5Sget_simple_extent_dims(source.space, extents.data(), nullptr);
    bool empty = H5Sget_simple_extent_type(source.space) == H5S_NULL;
    uint64_t count = 1;
    for (hsize_t extent : extents)
      empty |= extent == 0;
    for (hsize_t extent : extents)
      require(empty || !__builtin_mul_overflow(count, extent, &count), "{} has absurd extents", source.what);
    count = empty ? 0 : count;
    output.text(name);
    output.u32(empty && rank == 0 ? 1 : static_cast<uint64_t>(rank));
    for (hsize_t extent : extents)
      output.u64(extent);
    if (empty && rank == 0)
      output.u64(0);
    if (name.empty())
      return;
    Handle memory(memoryType(source.type, name), H5Tclose, source.what);
    if (name == "string")
      strings(source, memory, count);
    else
      elements(source, memory, count);
  }

  std::string readAll(const Array &source, hid_t memory, uint64_t count) {
    uint64_t size = H5Tget_size(memory), total;
    require(!__builtin_mul_overflow(count, size, &total), "{} has absurd extents", source.what);
    output.expect(total, source.what);
    std::string buffer(total, '\0');
    require(count == 0 || source.read(memory, buffer.data()) >= 0, "is damaged: the data of {} cannot be read",
            source.what);
    return buffer;
  }

  void elements(const Array &source, hid_t memory, uint64_t count) { output.bytes(readAll(source, memory, count)); }

  void strings(const Array &source, hid_t memory, uint64_t count) {
    std::string buffer = readAll(source, memory, count);
    if (H5Tis_variable_str(memory) > 0) {
      for (uint64_t i = 0; i < count; ++i) {
        const char *text;
        std::memcpy(&text, buffer.data() + i * sizeof text, sizeof text);
        output.text(text ? std::string_view(text) : "");
      }
      if (count > 0)
        H5Dvlen_reclaim(memory, source.space, H5P_DEFAULT, buffer.data());
      return;
    }
    size_t size = H5Tget_size(memory);
    for (uint64_t i = 0; i < count; ++i) {
      std::string_view text = std::string_view(buffer).substr(i * size, size);
      text = text.substr(0, text.find('\0'));
      while (H5Tget_strpad(memory) == H5T_STR_SPACEPAD && text.ends_with(' '))
        text.remove_suffix(1);
      output.text(text);
    }
  }
};

} // namespace

void Output::tag(char letter) {
  require(++records <= mostRecords, "has more than {} groups, attributes and datasets", mostRecords);
  bytes({&letter, 1});
}

void Output::text(std::string_view value) {
  require(value.size() < (uint64_t(1) << 31), "has a text of {} bytes, expected less than 2 GB", value.size());
  u32(value.size());
  bytes(value);
}

void Output::expect(uint64_t count, const std::string &what) const {
  require(count <= left, "{} needs {} bytes, more than a file of this size may hold", what, count);
}

void Output::bytes(std::string_view value) {
  require(value.size() <= left, "holds more than a file of its size may");
  left -= value.size();
  buffer += value;
  if (buffer.size() >= size_t(1) << 20)
    flush();
}

void Output::flush() {
  write(buffer);
  buffer.clear();
}

void Output::finish() {
  uint64_t count = records;
  tag('e');
  u64(count);
  flush();
}

namespace {

// Lets the library use our bytes as its file without copies: it only reads them.
void *imageItself(size_t, H5FD_file_image_op_t, void *bytes) { return bytes; }
void *notCopied(void *to, const void *, size_t, H5FD_file_image_op_t, void *) { return to; }
herr_t notFreed(void *, H5FD_file_image_op_t, void *) { return 0; }
void *sameBytes(void *bytes) { return bytes; }
herr_t keptBytes(void *) { return 0; }

/// Opens `bytes` as a file in memory.
hid_t openImage(std::string &bytes, hid_t access) {
  H5FD_file_image_callbacks_t callbacks{};
  callbacks.image_malloc = imageItself;
  callbacks.image_memcpy = notCopied;
  callbacks.image_free = notFreed;
  callbacks.udata_copy = sameBytes;
  callbacks.udata_free = keptBytes;
  callbacks.udata = bytes.data();
  if (H5Pset_fapl_core(access, size_t(1) << 16, 0) < 0 || H5Pset_file_image_callbacks(access, &callbacks) < 0 ||
      H5Pset_file_image(access, bytes.data(), bytes.size()) < 0)
    return -1;
  return H5Fopen("/proc/self/model in memory", H5F_ACC_RDONLY, access); // a name that no file on disk can have
}

} // namespace

void readFile(std::string bytes, const std::set<std::string> &skipped, Output &output) {
  require(!bytes.empty(), "is empty");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); // this program reports errors
  H5PLset_loading_state(0);
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "a property list");
  Handle file(openImage(bytes, access), H5Fclose, "the file's superblock");
  Handle root(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, "its root");
  output.bytes(mark);
  Reader(output, skipped).group(root, "/", 0);
  output.finish();
}

} // namespace lathe::keras::hdf5
