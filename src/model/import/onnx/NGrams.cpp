// TfIdfVectorizer: counts the occurrences of each n-gram of a list, by comparing shifted slices.
#include "import/onnx/Onnx.h"

#include <limits>
#include <map>

namespace lathe::onnx {
namespace {

class NGramImport {
public:
  explicit NGramImport(Node &node) : node(node) {}

  void run() {
    node.expectInputs(1, 1);
    readAttributes();
    x = node.in(0);
    const Dims given = node.info(x).dims;
    require(given.size() == 1 || given.size() == 2, "X is {}, expected rank 1 or 2", str(given));
    if (given.size() == 1)
      x = node.reshape(x, {1, given[0]});
    bool strings = node.info(x).type == ElementType::string;
    require(strings == integers.empty(), "X is {}, and the n-grams are {}", name(node.info(x).type),
            integers.empty() ? "strings" : "integers");
    if (!strings)
      x = node.cast(x, ElementType::i64);
    Values parts;
    for (size_t size = 1; size <= begins.size(); ++size)
      if (countOf(size) > 0)
        parts.push_back(occurrences(size));
    parts.push_back(zeros(1)); // for columns without an n-gram
    mlir::Value counts = node.emit("concat", parts, {{"axis", 1}});
    mlir::Value y = weighed(node.emit("gather", {counts, placesOfColumns()}, {{"axis", 1}}));
    node.set(0, given.size() == 1 ? node.emit("reshape", {y}, {{"shape", std::vector<int64_t>{-1}}}) : y);
  }

private:
  Node &node;
  mlir::Value x; // rows x positions
  std::string mode;
  int64_t least = 0, most = 0, skips = 0;
  std::vector<int64_t> begins, indexes, integers; // begins: start of the n-grams of each size in the pool
  std::vector<std::string> texts;
  std::vector<double> weights;

  void readAttributes() {
    mode = node.stringAttr("mode", "");
    require(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode is '{}', expected TF, IDF or TFIDF", mode);
    least = node.intAttr("min_gram_length", 1);
    most = node.intAttr("max_gram_length", 1);
    skips = node.intAttr("max_skip_count", 0);
    require(least >= 1 && most >= least && skips >= 0 && skips < 1 << 16,
            "lengths are {} to {} with up to {} skips, expected 1 or more, in this order, and no negative number",
            least, most, skips);
    begins = node.intsAttr("ngram_counts");
    indexes = node.intsAttr("ngram_indexes");
    integers = node.intsAttr("pool_int64s");
    texts = node.stringsAttr("pool_strings");
    weights = node.floatsAttr("weights");
    require(integers.empty() != texts.empty(), "expected either pool_int64s or pool_strings");
    require(weights.empty() || weights.size() == indexes.size(), "there are {} weights and {} n-grams", weights.size(),
            indexes.size());
    int64_t end = poolSize(), before = 0, all = 0;
    for (size_t size = 1; size <= begins.size(); ++size) {
      int64_t begin = begins[size - 1], next = size < begins.size() ? begins[size] : end;
      require(begin >= before && next >= begin && next <= end && (next - begin) % static_cast<int64_t>(size) == 0,
              "ngram_counts has value {} for {} elements of {}-grams", begin, next - begin, size);
      before = begin;
      all += countOf(size);
    }
    require(all == static_cast<int64_t>(indexes.size()) && all > 0, "there are {} n-grams and {} indexes", all,
            indexes.size());
  }

  int64_t poolSize() const { return static_cast<int64_t>(integers.empty() ? texts.size() : integers.size()); }
  /// The number of n-grams of `size` elements.
  int64_t countOf(size_t size) const {
    int64_t end = size < begins.size() ? begins[size] : poolSize();
    return (end - begins[size - 1]) / static_cast<int64_t>(size);
  }

  /// Element `at` of every n-gram of a size, along the last axis.
  mlir::Value elements(size_t size, size_t at) {
    int64_t count = countOf(size);
    TensorData data{ElementType::string, {1, 1, count}, {}, {}};
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) {
      auto from = static_cast<size_t>(begins[size - 1]) + static_cast<size_t>(i) * size + at;
      if (integers.empty())
        data.strings.push_back(texts[from]);
      else
        values.push_back(integers[from]);
    }
    return integers.empty() ? node.constant(data) : node.constantInts({1, 1, count}, values);
  }

  /// A zero for every row and each of `count` columns.
  mlir::Value zeros(int64_t count) {
    return node.expand(node.constantScalar(ElementType::f32, 0), {node.info(x).dims[0], Dim(count)}, x);
  }

  /// Counts every n-gram of a size: rows x n-grams.
  mlir::Value occurrences(size_t size) {
    auto length = static_cast<int64_t>(size);
    mlir::Value sum;
    for (int64_t stride = 1; length >= least && length <= most && stride <= (size == 1 ? 1 : skips + 1); ++stride) {
      const Dim &positions = node.info(x).dims[1];
      if (positions.isConstant() && positions.constant() <= (length - 1) * stride)
        break;
      mlir::Value all;
      for (size_t at = 0; at < size; ++at) {
        mlir::Value same = node.emit("equal", {shifted(at, size, stride), elements(size, at)});
        all = all ? node.emit("and", {all, same}) : same;
      }
      mlir::Value count = node.emit("reduce_sum", {node.cast(all, ElementType::f32)},
                                    {{"axes", std::vector<int64_t>{1}}, {"keepdims", false}});
      sum = sum ? node.emit("add", {sum, count}) : count;
    }
    return sum ? sum : zeros(countOf(size));
  }

  /// Element `at` of the n-gram that begins at each position: rows x positions x 1.
  mlir::Value shifted(size_t at, size_t size, int64_t stride) {
    auto before = static_cast<int64_t>(at) * stride, behind = static_cast<int64_t>(size - 1 - at) * stride;
    mlir::Value cut = node.emit("slice", {x},
                                {{"starts", std::vector<int64_t>{before}},
                                 {"ends", std::vector<int64_t>{behind ? -behind : std::numeric_limits<int64_t>::max()}},
                                 {"axes", std::vector<int64_t>{1}},
                                 {"steps", std::vector<int64_t>{1}}});
    Dims dims = node.info(cut).dims;
    dims.emplace_back(1);
    return node.reshape(cut, dims);
  }

  /// The n-gram that each column of the result counts; the number of n-grams for a column without one.
  std::map<int64_t, int64_t> ngramsOfColumns() {
    std::map<int64_t, int64_t> places;
    for (size_t i = 0; i < indexes.size(); ++i) {
      require(indexes[i] >= 0 && indexes[i] < int64_t(1) << 24, "ngram_indexes has value {}", indexes[i]);
      if (!places.emplace(indexes[i], static_cast<int64_t>(i)).second)
        node.unsupported(fmt::format("ngram_indexes has {} twice", indexes[i]));
    }
    return places;
  }
  mlir::Value placesOfColumns() {
    std::map<int64_t, int64_t> places = ngramsOfColumns();
    std::vector<int64_t> list(static_cast<size_t>(places.rbegin()->first) + 1, static_cast<int64_t>(indexes.size()));
    for (auto [column, ngram] : places)
      list[static_cast<size_t>(column)] = ngram;
    return node.constantInts({static_cast<int64_t>(list.size())}, list);
  }

  mlir::Value weighed(mlir::Value counts) {
    if (mode == "IDF") // 1 if it occurs
      counts = node.cast(node.emit("greater", {counts, node.constantScalar(ElementType::f32, 0)}), ElementType::f32);
    if (mode == "TF" || weights.empty())
      return counts;
    std::map<int64_t, int64_t> places = ngramsOfColumns();
    std::vector<float> factors(static_cast<size_t>(places.rbegin()->first) + 1, 0);
    for (auto [column, ngram] : places)
      factors[static_cast<size_t>(column)] = static_cast<float>(weights[static_cast<size_t>(ngram)]);
    TensorData data{ElementType::f32, {static_cast<int64_t>(factors.size())}, {}, {}};
    data.bytes.assign(reinterpret_cast<const char *>(factors.data()),
                      reinterpret_cast<const char *>(factors.data() + factors.size()));
    return node.emit("mul", {counts, node.constant(data)});
  }
};

void importTfIdf(Node &node) { NGramImport(node).run(); }

} // namespace

void addNGramHandlers(Handlers &table) { table["TfIdfVectorizer"] = importTfIdf; }

} // namespace lathe::onnx
