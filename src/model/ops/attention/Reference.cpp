#include "ops/ReferenceSupport.h"

#include <limits>

namespace lathe {

namespace {

/// Index of the matrix of `dims` (batch extents) for matrix `number` of `all`: with a smaller extent, groups of
/// neighbours share a matrix.
int64_t sharedMatrix(std::span<const int64_t> dims, std::span<const int64_t> all, int64_t number) {
  int64_t position = 0, stride = 1;
  for (size_t i = all.size(); i-- > 0;) {
    int64_t index = number % all[i];
    number /= all[i];
    position += index / (all[i] / dims[i]) * stride;
    stride *= dims[i];
  }
  return position;
}

/// Reads element [row, key] of an operand that broadcasts to the scores.
class ScoreOperand {
public:
  ScoreOperand(const Tensor *tensor, const std::vector<int64_t> &scoreDims) : tensor(tensor), scoreDims(scoreDims) {
    if (tensor)
      strides = broadcastStrides(tensor->dims(), scoreDims);
  }
  bool given() const { return tensor != nullptr; }
  bool isBoolean() const { return tensor->type() == ElementType::boolean; }
  template <class T> T at(int64_t row, int64_t key) const {
    int64_t offset = key * strides.back();
    for (size_t i = scoreDims.size() - 1; i-- > 0; row /= scoreDims[i])
      offset += row % scoreDims[i] * strides[i];
    return tensor->as<T>()[offset];
  }

private:
  const Tensor *tensor; // null: missing
  const std::vector<int64_t> &scoreDims;
  std::vector<int64_t> strides;
};

/// Computes attention for one query at a time, in double.
template <class T> class QueryAttention {
public:
  QueryAttention(const AttentionAttrs &attrs, ReferenceCall &call)
      : attrs(attrs), q(call.in(0)), k(call.in(1)), v(call.in(2)), batch(q.rank() - 2), queries(q.dim(batch)),
        keys(k.dim(batch)), depth(q.dim(batch + 1)), width(v.dim(batch + 1)), scoreDims(scoresOf(q, keys)),
        bias(call.has(3) ? &call.in(3) : nullptr, scoreDims), mask(call.has(4) ? &call.in(4) : nullptr, scoreDims) {}

  int64_t rows() const { return countOf(batchOf(q)) * queries; }

  /// Writes the result of `row`, a query of a batch.
  void run(int64_t row, T *result) const {
    int64_t matrix = sharedMatrix(batchOf(k), batchOf(q), row / queries);
    std::vector<double> scores(keys), sums(width);
    double greatest = -std::numeric_limits<double>::infinity();
    for (int64_t key = 0; key < keys; ++key) {
      scores[key] = score(row, key, matrix);
      greatest = std::max(greatest, scores[key]);
    }
    bool nothing = keys == 0 || (attrs.zero_masked_rows && greatest == -std::numeric_limits<double>::infinity());
    for (int64_t key = 0; nothing && key < keys; ++key)
      nothing = !isNan(scores[key]);
    double sum = 0;
    for (int64_t key = 0; key < keys; ++key) {
      double weight = std::exp(scores[key] - greatest);
      sum += weight;
      const T *values = v.as<T>() + (matrix * keys + key) * width;
      for (int64_t e = 0; e < width; ++e)
        sums[e] += weight * static_cast<double>(values[e]);
    }
    for (int64_t e = 0; e < width; ++e)
      result[row * width + e] = nothing ? T(0) : static_cast<T>(sums[e] / sum);
  }

private:
  const AttentionAttrs &attrs;
  const Tensor &q, &k, &v;
  size_t batch; // number of batch axes
  int64_t queries, keys, depth, width;
  std::vector<int64_t> scoreDims;
  ScoreOperand bias, mask;

  static std::vector<int64_t> scoresOf(const Tensor &q, int64_t keys) {
    std::vector<int64_t> dims(q.dims().begin(), q.dims().end());
    dims.back() = keys;
    return dims;
  }
  std::span<const int64_t> batchOf(const Tensor &t) const { return std::span(t.dims()).first(batch); }

  double score(int64_t row, int64_t key, int64_t matrix) const {
    const T *from = q.as<T>() + row * depth, *other = k.as<T>() + (matrix * keys + key) * depth;
    double score = 0;
    for (int64_t d = 0; d < depth; ++d)
      score += static_cast<double>(from[d]) * static_cast<double>(other[d]);
    score *= attrs.scale;
    if (attrs.softcap > 0)
      score = attrs.softcap * std::tanh(score / attrs.softcap);
    if (bias.given())
      score += static_cast<double>(bias.at<T>(row, key));
    if (mask.given() && mask.isBoolean())
      score = mask.at<uint8_t>(row, key) ? score : attrs.fill;
    else if (mask.given())
      score += static_cast<double>(mask.at<T>(row, key));
    int64_t visible = attrs.causal == "lower_right" ? keys - queries : 0; // the last visible key of query 0
    bool seen = attrs.causal == "none" || key <= row % queries + visible;
    return seen ? score : -std::numeric_limits<double>::infinity();
  }
};

} // namespace

void runAttention(const AttentionAttrs &attrs, ReferenceCall &call) {
  forFloat(call.in(0).type(), [&]<class T>(T) {
    QueryAttention<T> attention(attrs, call);
    T *results = call.out(0).as<T>();
    call.parallelFor(attention.rows(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        attention.run(row, results);
    });
  });
}

} // namespace lathe
