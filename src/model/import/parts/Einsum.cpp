// Einsum as transposes, reductions, products and matrix products. Operands are combined two at a time, from the left. A
// label is summed as soon as no later operand needs it; a label that appears twice in one operand becomes its diagonal.
#include "import/parts/Emitter.h"

#include <algorithm>
#include <numeric>

namespace lathe::source {
namespace {

/// Letters as their codes; the axes of an ellipsis as -1, -2, ... from the last one.
using Labels = std::vector<int>;

bool contains(const Labels &labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  mlir::Value value;
  Labels labels; // one label for each axis
};

struct Equation {
  std::vector<Labels> operands; // 0 stands for the ellipsis
  std::optional<Labels> result;
};

Labels parseLabels(std::string_view text) {
  Labels labels;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      require(!contains(labels, 0), "equation has a second ellipsis in '{}'", text);
      labels.push_back(0);
      i += 2;
    } else {
      require(std::isalpha(static_cast<unsigned char>(text[i])), "equation has '{}', expected letters and ellipses",
              text);
      labels.push_back(text[i]);
    }
  }
  return labels;
}

Equation parseEquation(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
  Equation equation;
  size_t arrow = text.find("->");
  if (arrow != std::string::npos)
    equation.result = parseLabels(std::string_view(text).substr(arrow + 2));
  std::string_view left = std::string_view(text).substr(0, arrow);
  for (;;) {
    size_t comma = left.find(',');
    equation.operands.push_back(parseLabels(left.substr(0, comma)));
    if (comma == std::string_view::npos)
      return equation;
    left.remove_prefix(comma + 1);
  }
}

class Einsum {
public:
  Einsum(Node &node, const Values &operands) : node(node), operands(operands) {}

  mlir::Value run(const std::string &text) {
    Equation equation = parseEquation(text);
    require(equation.operands.size() == operands.size(), "equation has {} terms, expected {} as there are inputs",
            equation.operands.size(), operands.size());
    std::vector<Term> terms;
    for (size_t i = 0; i < equation.operands.size(); ++i)
      terms.push_back(term(operands[i], equation.operands[i]));
    Labels result = resultLabels(equation, terms);
    Term sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      Labels later = result;
      for (size_t k = i + 1; k < terms.size(); ++k)
        later.insert(later.end(), terms[k].labels.begin(), terms[k].labels.end());
      sum = product(sum, terms[i], later);
    }
    for (int label : result)
      require(contains(sum.labels, label), "the result has a label that no operand has");
    sum = reduced(sum, result);
    return ordered(sum, result);
  }

private:
  Node &node;
  const Values &operands;
  size_t ellipsis = 0; // number of axes of the widest ellipsis

  const Dims &dims(const Term &term) const { return node.info(term.value).dims; }

  Term term(mlir::Value value, const Labels &labels) {
    auto rank = static_cast<size_t>(node.rank(value));
    bool open = contains(labels, 0);
    require(open ? rank + 1 >= labels.size() : rank == labels.size(), "an operand has rank {}, its term {} labels",
            rank, labels.size() - open);
    size_t wide = open ? rank + 1 - labels.size() : 0;
    ellipsis = std::max(ellipsis, wide);
    Term result{value, {}};
    for (int label : labels) {
      if (label != 0) {
        result.labels.push_back(label);
        continue;
      }
      for (size_t i = wide; i-- > 0;)
        result.labels.push_back(-1 - static_cast<int>(i));
    }
    for (size_t i = 0; i < result.labels.size(); ++i)
      for (size_t k = i + 1; k < result.labels.size(); ++k)
        if (result.labels[i] == result.labels[k]) {
          result = diagonal(result, i, k);
          k = i;
        }
    return result;
  }

  /// 0, 1, ... below the extent of axis `of`, along axis `to` of a tensor of x's rank; all other extents are 1.
  mlir::Value positions(const Term &x, size_t of, size_t to) {
    Dims along(dims(x).size(), Dim(1));
    along[to] = dims(x)[of];
    if (along[to].isConstant()) {
      std::vector<int64_t> numbers(along[to].constant());
      std::iota(numbers.begin(), numbers.end(), 0);
      return node.constantInts(constants(along), numbers);
    }
    auto at = static_cast<int64_t>(of);
    mlir::Value count = node.reshape(node.emit("shape", {x.value}, {{"start", at}, {"end", at + 1}}), {});
    return node.reshape(node.emit("range", {node.constantInts({}, {0}), count, node.constantInts({}, {1})}), along);
  }

  /// Keeps the elements where axes i and k have the same position: masks all others, and sums over axis k.
  Term diagonal(const Term &x, size_t i, size_t k) {
    require(mayAgree(dims(x)[i], dims(x)[k]), "label '{}' stands for extents {} and {}", static_cast<char>(x.labels[i]),
            dims(x)[i].str(), dims(x)[k].str());
    mlir::Value mask = node.emit("equal", {positions(x, i, i), positions(x, i, k)});
    mlir::Value kept = node.emit("where", {mask, x.value, node.constantScalar(node.info(x.value).type, 0)});
    Term result{
        node.emit("reduce_sum", {kept}, {{"axes", std::vector<int64_t>{static_cast<int64_t>(k)}}, {"keepdims", false}}),
        x.labels};
    result.labels.erase(result.labels.begin() + static_cast<int64_t>(k));
    return result;
  }

  Labels resultLabels(const Equation &equation, const std::vector<Term> &terms) {
    Labels result, wide;
    for (size_t i = ellipsis; i-- > 0;)
      wide.push_back(-1 - static_cast<int>(i));
    if (equation.result) {
      for (int label : *equation.result) {
        require(label == 0 || !contains(result, label), "the result has label '{}' twice", static_cast<char>(label));
        if (label == 0)
          result.insert(result.end(), wide.begin(), wide.end());
        else
          result.push_back(label);
      }
      return result;
    }
    // The implicit result: the ellipsis, then every letter that appears once, in alphabetical order.
    Labels letters;
    for (const Labels &labels : equation.operands)
      letters.insert(letters.end(), labels.begin(), labels.end());
    result = wide;
    std::sort(letters.begin(), letters.end());
    for (int label : letters)
      if (label != 0 && std::count(letters.begin(), letters.end(), label) == 1)
        result.push_back(label);
    return result;
  }

  /// Sums over every label that is not among `kept`.
  Term reduced(const Term &x, const Labels &kept) {
    std::vector<int64_t> axes;
    Labels left;
    for (size_t i = 0; i < x.labels.size(); ++i)
      if (contains(kept, x.labels[i]))
        left.push_back(x.labels[i]);
      else
        axes.push_back(static_cast<int64_t>(i));
    if (axes.empty())
      return x;
    return {node.emit("reduce_sum", {x.value}, {{"axes", axes}, {"keepdims", false}}), left};
  }

  mlir::Value ordered(const Term &x, const Labels &order) {
    std::vector<int64_t> perm;
    for (int label : order)
      perm.push_back(std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin());
    if (std::is_sorted(perm.begin(), perm.end()))
      return x.value;
    return node.emit("transpose", {x.value}, {{"perm", perm}});
  }

  /// Removes axes of extent 1 whose label has another extent in `other`: they broadcast.
  Term narrowed(const Term &x, const Term &other) {
    Dims kept;
    Labels labels;
    for (size_t i = 0; i < x.labels.size(); ++i) {
      auto at = std::find(other.labels.begin(), other.labels.end(), x.labels[i]);
      if (at != other.labels.end() && dims(x)[i] == Dim(1) && dims(other)[at - other.labels.begin()] != Dim(1))
        continue;
      if (at != other.labels.end()) {
        const Dim &extent = dims(other)[at - other.labels.begin()];
        require(extent == Dim(1) || mayAgree(dims(x)[i], extent), "a label stands for extents {} and {}",
                dims(x)[i].str(), extent.str());
      }
      kept.push_back(dims(x)[i]);
      labels.push_back(x.labels[i]);
    }
    return labels.size() == x.labels.size() ? x : Term{node.reshape(x.value, kept), labels};
  }

  Dims extents(const Term &x, const Labels &labels) const {
    Dims result;
    for (int label : labels)
      result.push_back(dims(x)[std::find(x.labels.begin(), x.labels.end(), label) - x.labels.begin()]);
    return result;
  }

  static Labels joined(std::initializer_list<Labels> parts) {
    Labels result;
    for (const Labels &part : parts)
      result.insert(result.end(), part.begin(), part.end());
    return result;
  }
  static Dims joined(std::initializer_list<Dims> parts) {
    Dims result;
    for (const Dims &part : parts)
      result.insert(result.end(), part.begin(), part.end());
    return result;
  }

  /// x * y, summed over the labels that neither `later` nor the result needs.
  Term product(Term x, Term y, const Labels &later) {
    Term wide = x;
    x = narrowed(x, y);
    y = narrowed(y, wide);
    x = reduced(x, joined({y.labels, later}));
    y = reduced(y, joined({x.labels, later}));
    Labels batch, summed, left, right;
    for (int label : x.labels)
      (!contains(y.labels, label) ? left : contains(later, label) ? batch : summed).push_back(label);
    for (int label : y.labels)
      if (!contains(x.labels, label))
        right.push_back(label);
    Dims b = extents(x, batch), l = extents(x, left), r = extents(y, right), s = extents(x, summed);
    Labels labels = joined({batch, left, right});
    if (summed.empty()) {
      mlir::Value p = node.reshape(ordered(x, joined({batch, left})), joined({b, l, Dims(r.size(), Dim(1))}));
      mlir::Value q = node.reshape(ordered(y, joined({batch, right})), joined({b, Dims(l.size(), Dim(1)), r}));
      return {node.emit("mul", {p, q}), labels};
    }
    mlir::Value p = ordered(x, joined({batch, left, summed})), q = ordered(y, joined({batch, summed, right}));
    p = node.reshape(p, joined({b, {lathe::product(l), lathe::product(s)}}));
    q = node.reshape(q, joined({extents(y, batch), {lathe::product(extents(y, summed)), lathe::product(r)}}));
    mlir::Value z = node.emit("matmul", {p, q});
    Dims outer(node.info(z).dims.begin(), node.info(z).dims.end() - 2);
    return {node.reshape(z, joined({outer, l, r})), labels};
  }
};

} // namespace

mlir::Value einsum(Node &node, const Values &operands, const std::string &equation) {
  require(!operands.empty(), "has no inputs, expected at least 1");
  return Einsum(node, operands).run(equation);
}

} // namespace lathe::source
