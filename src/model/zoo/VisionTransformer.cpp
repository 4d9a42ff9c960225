// Vision transformers: attention in primitive operators, as exporters write it.
#include "zoo/Architectures.h"

#include <cmath>

namespace lathe::zoo {

namespace {

/// Multi-head self-attention over x, batch x positions x features: scaled products, softmax, weighted sum, projection.
Signal attention(Network &n, Signal x, int64_t heads, const std::string &name) {
  int64_t positions = x.extent(1), features = x.extent(2), size = features / heads;
  std::vector<Signal> parts =
      n.split(n.linear(x, 3 * features, name + ".in"), {features, features, features}, name + ".split", 2);
  auto perHead = [&](int part, std::vector<int64_t> perm, const std::string &what) {
    Signal y = n.reshape(parts[part], {0, positions, heads, size}, name + what + ".heads");
    return n.transpose(y, std::move(perm), name + what + ".transpose");
  };
  Signal query = n.scale(perHead(0, {0, 2, 1, 3}, ".q"), 1 / std::sqrt(static_cast<double>(size)), name + ".q.scale");
  Signal key = perHead(1, {0, 2, 3, 1}, ".k"), value = perHead(2, {0, 2, 1, 3}, ".v");
  Signal weights = n.softmax(n.matmul(query, key, name + ".scores"), -1, name + ".softmax");
  Signal y = n.matmul(weights, value, name + ".values");
  // For logits with variance 1, the squared weights of a row sum to about e / positions.
  y.mean = value.mean;
  y.variance = value.variance * 2.718 / static_cast<double>(positions);
  y = n.reshape(n.transpose(y, {0, 2, 1, 3}, name + ".transpose"), {0, positions, features}, name + ".join");
  return n.linear(y, features, name + ".out");
}

} // namespace

Signal vitB16(Network &n) {
  const int64_t features = 768, patches = 14 * 14;
  ConvOptions patch{{16, 16}, {16, 16}, {0, 0}, 1, true};
  Signal x = n.conv(n.input({3, 224, 224}), features, patch, "patches");
  x = n.transpose(n.reshape(x, {0, features, patches}, "flatten"), {0, 2, 1}, "sequence");
  Signal token = n.forEachImage(n.parameter({1, 1, features}, 0.5, "class_token"), x, "class_token.expand");
  x = n.joined({token, x}, 1, "with_class_token");
  x = n.add(x, n.parameter({1, patches + 1, features}, 0.5, "pos_embedding"), "positions");
  for (int layer = 0; layer < 12; ++layer) {
    std::string name = "layer" + std::to_string(layer);
    x = n.add(x, attention(n, n.layerNorm(x, name + ".ln1", 1e-6), 12, name + ".attention"), name + ".add1");
    Signal y = n.linear(n.layerNorm(x, name + ".ln2", 1e-6), 4 * features, name + ".mlp1");
    x = n.add(x, n.linear(n.activate(y, Activation::gelu, name + ".gelu"), features, name + ".mlp2"), name + ".add2");
  }
  x = n.pick(n.layerNorm(x, "ln", 1e-6), 1, 0, "class");
  return n.dense(x, 1000, "head");
}

} // namespace lathe::zoo
