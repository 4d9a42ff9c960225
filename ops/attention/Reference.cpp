#include "ops/ReferenceSupport.h"

#include <limits>

namespace lathe {

namespace {

/// Position of the matrix of `dims` (batch extents) that serves matrix `number` of `all`: a smaller extent serves
/// neighbours in groups.
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

} // namespace

void runAttention(const AttentionAttrs &a, ReferenceCall &call) {
  const Tensor &q = call.in(0), &k = call.in(1), &v = call.in(2);
  size_t batch = q.rank() - 2;
  int64_t queries = q.dim(batch), keys = k.dim(batch), depth = q.dim(batch + 1), width = v.dim(batch + 1);
  auto batchOf = [&](const Tensor &t) { return std::span(t.dims()).first(batch); };
  std::vector<int64_t> scoreDims(q.dims().begin(), q.dims().end() - 1);
  scoreDims.push_back(keys);
  int64_t visible = a.causal == "none" ? keys : a.causal == "lower_right" ? keys - queries : 0; // of query 0, less one
  forFloat(q.type(), [&]<class T>(T) {
    T *results = call.out(0).as<T>();
    // Element [row, key] of an operand that broadcasts to the scores.
    auto position = [&](const std::vector<int64_t> &strides, int64_t row, int64_t key) {
      int64_t offset = key * strides.back();
      for (size_t i = scoreDims.size() - 1; i-- > 0; row /= scoreDims[i])
        offset += row % scoreDims[i] * strides[i];
      return offset;
    };
    std::vector<int64_t> biasStrides, maskStrides;
    if (call.has(3))
      biasStrides = broadcastStrides(call.in(3).dims(), scoreDims);
    if (call.has(4))
      maskStrides = broadcastStrides(call.in(4).dims(), scoreDims);
    call.parallelFor(countOf(batchOf(q)) * queries, [&](int64_t begin, int64_t end) {
      std::vector<double> scores(keys), sums(width);
      for (int64_t row = begin; row < end; ++row) {
        int64_t query = row % queries, matrix = sharedMatrix(batchOf(k), batchOf(q), row / queries);
        const T *from = q.as<T>() + row * depth;
        double greatest = -std::numeric_limits<double>::infinity();
        for (int64_t key = 0; key < keys; ++key) {
          const T *other = k.as<T>() + (matrix * keys + key) * depth;
          double score = 0;
          for (int64_t d = 0; d < depth; ++d)
            score += static_cast<double>(from[d]) * static_cast<double>(other[d]);
          score *= a.scale;
          if (call.has(3))
            score += static_cast<double>(call.in(3).as<T>()[position(biasStrides, row, key)]);
          if (call.has(4)) {
            int64_t at = position(maskStrides, row, key);
            if (call.in(4).type() == ElementType::boolean)
              score = call.in(4).as<uint8_t>()[at] ? score : a.fill;
            else
              score += static_cast<double>(call.in(4).as<T>()[at]);
          }
          if (a.causal != "none" && key > query + visible)
            score = -std::numeric_limits<double>::infinity();
          scores[key] = score;
          greatest = std::max(greatest, score);
        }
        bool nothing = a.zero_masked_rows && greatest == -std::numeric_limits<double>::infinity();
        for (int64_t key = 0; nothing && key < keys; ++key)
          nothing = !isNan(scores[key]);
        double sum = 0;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t key = 0; key < keys; ++key) {
          double weight = std::exp(scores[key] - greatest);
          sum += weight;
          const T *values = v.as<T>() + (matrix * keys + key) * width;
          for (int64_t e = 0; e < width; ++e)
            sums[e] += weight * static_cast<double>(values[e]);
        }
        for (int64_t e = 0; e < width; ++e)
          results[row * width + e] = nothing ? T(0) : static_cast<T>(sums[e] / sum);
      }
    });
  });
}

} // namespace lathe
