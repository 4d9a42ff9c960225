// SavedModels written by the test: signatures, and variables in a tensor bundle of several shards, whole and in slices.
#include "import/tensorflow/GraphTesting.h"
#include "import/tensorflow/SortedTable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

namespace lathe::tensorflow {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}
std::string word(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> 8 * i);
  return out;
}

/// Entries whose keys share prefixes, with one restart.
std::string block(const std::vector<std::pair<std::string, std::string>> &entries) {
  std::string out, before;
  for (const auto &[key, value] : entries) {
    size_t shared = 0;
    while (shared < key.size() && shared < before.size() && key[shared] == before[shared])
      ++shared;
    out += varint(shared) + varint(key.size() - shared) + varint(value.size()) + key.substr(shared) + value;
    before = key;
  }
  return out + word(0, 4) + word(1, 4);
}

/// `content` in Snappy: literals of at most 60 bytes.
std::string snappy(const std::string &content) {
  std::string out = varint(content.size());
  for (size_t at = 0; at < content.size(); at += 60) {
    std::string part = content.substr(at, 60);
    out += static_cast<char>((part.size() - 1) << 2) + part;
  }
  return out;
}

/// Appends a block and returns its position.
std::string append(std::string &file, const std::string &content, bool compressed) {
  std::string stored = (compressed ? snappy(content) : content) + (compressed ? '\1' : '\0');
  std::string place = varint(file.size()) + varint(stored.size() - 1);
  file += stored + word(maskedCrc(crc32c(stored)), 4);
  return place;
}

std::string table(const std::map<std::string, std::string> &entries, bool compressed = false) {
  std::string file;
  std::vector<std::pair<std::string, std::string>> index, part;
  for (auto at = entries.begin(); at != entries.end();) { // two entries a block
    part.push_back(*at++);
    if (part.size() == 2 || at == entries.end()) {
      std::string last = part.back().first;
      index.emplace_back(last, append(file, block(part), compressed));
      part.clear();
    }
  }
  std::string filters = append(file, block({}), false), root = append(file, block(index), compressed);
  std::string footer = filters + root;
  footer.resize(40, '\0');
  return file + footer + word(0xdb4775248b80fb57, 8);
}

TEST(SortedTable, KeysAndValues) {
  std::map<std::string, std::string> entries = {{"", "header"}, {"alpha", "1"}, {"alphabet", "22"}, {"beta", ""}};
  for (bool compressed : {false, true})
    EXPECT_EQ(readSortedTable(table(entries, compressed), "t"), entries);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u) << "the check value of CRC-32C";
}

TEST(SortedTable, DamageIsNoticed) {
  std::string good = table({{"alpha", "1"}, {"beta", "2"}});
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] ^= 1;
    try {
      readSortedTable(bad, "t"); // only the parts of the footer that lead to the blocks matter
      EXPECT_GE(i, good.size() - 48) << i;
    } catch (const Error &error) {
      EXPECT_THAT(error.what(), StartsWith("t: ")) << i;
    }
  }
}

/// A SavedModel in a temporary folder.
class Folder {
public:
  fs::path path;
  file::SavedModel model;
  std::map<std::string, std::string> index;
  std::string shards[2];
  TestGraph graph;

  Folder() {
    path =
        fs::temp_directory_path() / fmt::format("lathe-saved-model-{}-{}", ::getpid(), static_cast<const void *>(this));
    fs::create_directories(path / "variables");
    model.set_saved_model_schema_version(1);
    model.add_meta_graphs()->mutable_meta_info_def()->add_tags("serve");
    file::BundleHeaderProto header;
    header.set_num_shards(2);
    index[""] = header.SerializeAsString();
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }

  file::MetaGraphDef &meta() { return *model.mutable_meta_graphs(0); }

  /// Puts a tensor into a shard.
  file::BundleEntryProto stored(int shard, const Extents &dims, const std::vector<float> &values) {
    std::string bytes(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
    file::BundleEntryProto entry;
    entry.set_dtype(1);
    for (int64_t extent : dims)
      entry.mutable_shape()->add_dim()->set_size(extent);
    entry.set_shard_id(shard);
    entry.set_offset(static_cast<int64_t>(shards[shard].size()));
    entry.set_size(static_cast<int64_t>(bytes.size()));
    entry.set_crc32c(maskedCrc(crc32c(bytes)));
    shards[shard] += bytes;
    return entry;
  }
  void variable(const std::string &key, int shard, const Extents &dims, const std::vector<float> &values) {
    index[key] = stored(shard, dims, values).SerializeAsString();
  }
  void signature(const std::string &name, const std::map<std::string, std::string> &inputs,
                 const std::map<std::string, std::string> &outputs) {
    file::SignatureDef &signature = (*meta().mutable_signature_def())[name];
    for (const auto &[key, tensor] : inputs) {
      file::TensorInfo &info = (*signature.mutable_inputs())[key];
      info.set_name(tensor);
      info.set_dtype(file::DT_FLOAT);
      info.mutable_tensor_shape()->add_dim()->set_size(2);
    }
    for (const auto &[key, tensor] : outputs) {
      file::TensorInfo &info = (*signature.mutable_outputs())[key];
      info.set_name(tensor);
      info.set_dtype(file::DT_FLOAT);
    }
  }

  void write() {
    *meta().mutable_graph_def() = graph.graph;
    put("saved_model.pb", model.SerializeAsString());
    put("variables/variables.index", table(index));
    for (int i = 0; i < 2; ++i)
      put(fmt::format("variables/variables.data-0000{}-of-00002", i), shards[i]);
  }
  void put(const std::string &name, const std::string &bytes) { std::ofstream(path / name, std::ios::binary) << bytes; }

  Numbers run(const Numbers &x, const std::string &signature = "") {
    auto context = makeContext();
    ImportOptions options;
    options.signature = signature;
    std::ostringstream bytes;
    bytes << std::ifstream(path / "saved_model.pb", std::ios::binary).rdbuf();
    auto module = importModelOf(format(), *context, bytes.str(), (path / "saved_model.pb").string(), path, options);
    std::vector<lathe::Value> inputs = {floats({2}, x)};
    return numbersOf(evaluate(*module, inputs).at(0).tensor().clone());
  }
  std::string error(const std::string &signature = "") {
    try {
      run({1, 2}, signature);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
};

/// y = x * w + b and z = x * w.
struct Linear : Folder {
  Linear() {
    TestGraph &g = graph;
    std::string x = g.placeholder("in", {2});
    for (const char *name : {"w", "b"})
      g.op("VarHandleOp", {}, {text("shared_name", name), type("dtype", 1)}, std::string("handle_") + name);
    std::string w = g.op("ReadVariableOp", {"handle_w"}, {type("dtype", 1)});
    std::string b = g.op("ReadVariableOp", {"handle_b"}, {type("dtype", 1)});
    g.op("Mul", {x, w}, {}, "x"); // a node that has the name of an input of the signature
    g.op("AddV2", {"x", b}, {}, "sum");
    variable("w", 0, {2}, {2, 3});
    variable("b", 1, {2}, {10, 20});
    signature("serving_default", {{"x", "in:0"}}, {{"y", "sum:0"}});
    signature("product", {{"x", "in:0"}}, {{"z", "x:0"}});
  }
};

TEST(SavedModel, SignaturesAndVariables) {
  Linear model;
  model.write();
  EXPECT_THAT(model.run({1, 1}), ElementsAre(12, 23));
  EXPECT_THAT(model.run({1, 1}, "product"), ElementsAre(2, 3));
  EXPECT_THAT(model.error("score"), HasSubstr("has no signature 'score', expected one of: product, serving_default"));
}

TEST(SavedModel, SignaturesThatDoNotFitTheGraphAreNamed) {
  Linear model;
  model.graph.placeholder("other", {2});
  model.graph.op("AddV2", {"sum", "other"}, {}, "both");
  model.signature("need", {{"x", "in:0"}}, {{"y", "both:0"}});
  model.signature("no_input", {{"x", "nosuch:0"}}, {{"y", "sum:0"}});
  model.signature("no_output", {{"x", "in:0"}}, {{"y", "nosuch:0"}});
  model.write();
  EXPECT_THAT(model.error("need"),
              HasSubstr("signature 'need': output 'y' needs 'other', which is none of its inputs"));
  EXPECT_THAT(model.error("no_input"),
              HasSubstr("signature 'no_input': input 'x' is the tensor 'nosuch:0', which the graph does not have"));
  EXPECT_THAT(model.error("no_output"),
              HasSubstr("signature 'no_output': output 'y' is the tensor 'nosuch:0', which the graph does not have"));
  EXPECT_THAT(model.run({1, 1}, "serving_default"), ElementsAre(12, 23));
  model.meta().clear_signature_def();
  model.write();
  EXPECT_THAT(model.error(), HasSubstr("has no signatures, which say what goes in and out"));
}

TEST(SavedModel, AssetsAreNotReadAndCounted) {
  for (int count : {0, 1, 2}) {
    Linear model;
    for (int i = 0; i < count; ++i)
      model.meta().add_asset_file_def();
    model.write();
    ModelRecord record = readModel(model.model.SerializeAsString(), "m", model.path, {});
    EXPECT_THAT(record.producer, testing::EndsWith(count == 0   ? "TensorFlow"
                                                   : count == 1 ? "(1 asset is not read)"
                                                                : "(2 assets are not read)"));
  }
}

TEST(SavedModel, VariablesByTheOperatorsThatRestoreThem) {
  Linear model;
  TestGraph &g = model.graph;
  // The checkpoint's keys are in the reverse order of the variables' names.
  file::NodeDef &names = *g.graph.add_node();
  setNode(names, "names", "Const", {}, {type("dtype", 7)});
  for (const char *key : {"b", "w"})
    (*names.mutable_attr())["value"].mutable_tensor()->add_string_val(key);
  file::NodeDef &slices = *g.graph.add_node();
  setNode(slices, "slices", "Const", {}, {type("dtype", 7)});
  for (int i = 0; i < 2; ++i)
    (*slices.mutable_attr())["value"].mutable_tensor()->add_string_val("");
  g.op("RestoreV2", {"prefix", "names", "slices"}, {}, "restore");
  g.op("AssignVariableOp", {"handle_w", "restore"}, {}, "assign");
  g.op("AssignVariableOp", {"handle_b", g.op("Identity", {"restore:1"})}, {}, "assign_1");
  model.write();
  EXPECT_THAT(model.run({1, 1}), ElementsAre(12, 23)) << "10 + 2, 20 + 3";
  EXPECT_THAT(model.run({1, 1}, "product"), ElementsAre(10, 20));
}

TEST(SavedModel, VariablesInSlices) {
  Linear model;
  file::BundleEntryProto whole;
  whole.set_dtype(1);
  whole.mutable_shape()->add_dim()->set_size(2);
  for (int64_t start : {0, 1}) {
    auto &extent = *whole.add_slices()->add_extent();
    extent.set_start(start);
    extent.set_length(1);
    // 0; the name and its end; the number of axes; start and length, each in one byte.
    std::string key = std::string("\0w\0\1\1\1", 6) + static_cast<char>(0x80 + start) + '\x81';
    model.index[key] = model.stored(static_cast<int>(start), {1}, {start ? 5.0f : 4.0f}).SerializeAsString();
  }
  model.index["w"] = whole.SerializeAsString();
  model.write();
  EXPECT_THAT(model.run({1, 1}), ElementsAre(14, 25));
}

TEST(SavedModel, DamagedVariablesAreNamed) {
  Linear model;
  model.shards[1][0] ^= 1;
  model.write();
  EXPECT_THAT(model.error(), HasSubstr("variable 'handle_b' ('b'): its checksum is wrong"));
  Linear shorter;
  shorter.shards[0].pop_back();
  shorter.write();
  EXPECT_THAT(shorter.error(), HasSubstr("variable 'handle_w' ('w'): lies at 0 with 8 bytes"));
  Linear missing;
  missing.index.erase("b");
  missing.write();
  EXPECT_THAT(missing.error(), HasSubstr("variable 'b' has no tensor in the checkpoint"));
}

TEST(SavedModel, AVariableThatInferenceWritesIsRefused) {
  Linear model;
  model.graph.op("AssignAddVariableOp", {"handle_b", "x"}, {type("dtype", 1)}, "count");
  for (file::NodeDef &node : *model.graph.graph.mutable_node())
    if (node.name() == "sum")
      node.add_input("^count");
  model.write();
  EXPECT_THAT(model.error(), HasSubstr("node 'count' (AssignAddVariableOp) writes a variable"));
  EXPECT_THAT(model.run({1, 1}, "product"), ElementsAre(2, 3)) << "the other signature does not wait for it";
}

} // namespace
} // namespace lathe::tensorflow
