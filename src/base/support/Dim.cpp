#include "support/Dim.h"
#include "support/DimForms.h"
#include "support/Error.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cstring>

namespace lathe {

enum class DimOp { symbol, floorDiv, minimum, maximum, broadcast };

/// An indivisible factor of a monomial: a symbol, or an operation that polynomials cannot express.
struct DimAtom {
  DimOp op;
  std::string name; // of a symbol
  Dim a, b;         // of an operation

  std::string str() const {
    switch (op) {
    case DimOp::symbol:
      return name;
    case DimOp::floorDiv:
      return fmt::format("floordiv({}, {})", a.str(), b.str());
    case DimOp::minimum:
      return fmt::format("min({}, {})", a.str(), b.str());
    case DimOp::maximum:
      return fmt::format("max({}, {})", a.str(), b.str());
    case DimOp::broadcast:
      return fmt::format("broadcast({}, {})", a.str(), b.str());
    }
    return {};
  }

  /// Splits `dim` into quotient * divisor + rest, where the rest has no multiple of the divisor as a coefficient and a
  /// constant in [0, divisor).
  static std::pair<Dim, Dim> divideParts(const Dim &dim, int64_t divisor);
  /// The division, where `dim` is one floor division by a positive constant plus a constant; otherwise null.
  static const DimAtom *soleDivision(const Dim &dim);
  /// Adds the extents that `dim` broadcasts, or `dim` itself, to `parts`, by their texts.
  static void collectBroadcast(const Dim &dim, std::map<std::string, Dim> &parts);
  static Dim broadcast(const Dim &a, const Dim &b);
  static Dim lowerBound(const Dim &dim);
};

namespace {
// Longer extents are rejected: no real model has them, and nested operations and products of sums grow exponentially.
constexpr size_t longestText = 4000, mostTerms = 500;

int64_t floorDivide(int64_t a, int64_t b) {
  require(b != 0, "shape arithmetic divides by zero");
  require(b != -1 || a != INT64_MIN, "absurd dimensions: {} / {} overflows 64 bits", a, b);
  int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

int64_t checkedMultiply(int64_t a, int64_t b) {
  int64_t result;
  require(!__builtin_mul_overflow(a, b, &result), "absurd dimensions: {} x {} overflows 64 bits", a, b);
  return result;
}

int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t result;
  require(!__builtin_add_overflow(a, b, &result), "absurd dimensions: {} + {} overflows 64 bits", a, b);
  return result;
}

std::shared_ptr<const DimAtom> makeAtom(DimOp op, Dim a, Dim b) {
  return std::make_shared<DimAtom>(DimAtom{op, {}, std::move(a), std::move(b)});
}
} // namespace

Dim::Dim(int64_t constant) { add(Term{{}, constant}); }

Dim Dim::symbol(std::string name) {
  return atom(std::make_shared<DimAtom>(DimAtom{DimOp::symbol, std::move(name), {}, {}}));
}

Dim Dim::atom(std::shared_ptr<const DimAtom> atom) {
  Term term;
  term.coefficient = 1;
  std::string key = atom->str();
  require(key.size() <= longestText, "shape arithmetic is too deep: {}...", key.substr(0, 60));
  term.factors[key] = {std::move(atom), 1};
  Dim result;
  result.add(term);
  return result;
}

std::string Dim::text(const Monomial &monomial) {
  std::string result;
  for (auto &[key, factor] : monomial)
    for (int i = 0; i < factor.second; ++i)
      result += (result.empty() ? "" : "*") + key;
  return result;
}

void Dim::add(const Term &term) {
  if (term.coefficient == 0)
    return;
  std::string key = text(term.factors);
  auto [it, inserted] = terms.try_emplace(key, term);
  if (inserted)
    return;
  it->second.coefficient = checkedAdd(it->second.coefficient, term.coefficient);
  if (it->second.coefficient == 0)
    terms.erase(it);
}

bool Dim::isConstant() const { return terms.empty() || (terms.size() == 1 && terms.begin()->first.empty()); }

int64_t Dim::constant() const {
  assert(isConstant());
  return terms.empty() ? 0 : terms.begin()->second.coefficient;
}

Dim operator+(const Dim &a, const Dim &b) {
  Dim result = a;
  for (auto &[key, term] : b.terms)
    result.add(term);
  return result;
}

Dim operator-(const Dim &a, const Dim &b) { return a + b * Dim(-1); }

Dim operator*(const Dim &a, const Dim &b) {
  Dim result;
  for (auto &[keyA, x] : a.terms)
    for (auto &[keyB, y] : b.terms) {
      Dim::Term term = x;
      term.coefficient = checkedMultiply(x.coefficient, y.coefficient);
      for (auto &[key, factor] : y.factors) {
        auto [it, inserted] = term.factors.try_emplace(key, factor);
        if (!inserted)
          it->second.second += factor.second;
      }
      result.add(term);
      require(result.terms.size() <= mostTerms,
              "shape arithmetic is too wide: an extent is a sum of more than {} terms", mostTerms);
    }
  return result;
}

std::optional<Dim> Dim::dividedExactlyBy(const Dim &divisor) const {
  if (divisor.terms.size() > 1) {
    // Tries quotients of one term: the first term of this sum divided by each term of the divisor.
    for (auto &[key, term] : divisor.terms) {
      Dim first, by;
      first.add(terms.empty() ? Term() : terms.begin()->second);
      by.add(term);
      const std::optional<Dim> quotient = first.dividedExactlyBy(by);
      if (quotient && *quotient * divisor == *this)
        return quotient;
    }
    return std::nullopt;
  }
  if (divisor.terms.empty())
    return std::nullopt;
  const Term &d = divisor.terms.begin()->second;
  Dim result;
  for (auto &[key, term] : terms) {
    if (d.coefficient != -1 && term.coefficient % d.coefficient != 0)
      return std::nullopt;
    Term quotient = term;
    quotient.coefficient = floorDivide(term.coefficient, d.coefficient);
    for (auto &[atomKey, factor] : d.factors) {
      auto it = quotient.factors.find(atomKey);
      if (it == quotient.factors.end() || it->second.second < factor.second)
        return std::nullopt;
      it->second.second -= factor.second;
      if (it->second.second == 0)
        quotient.factors.erase(it);
    }
    result.add(quotient);
  }
  return result;
}

std::pair<Dim, Dim> DimAtom::divideParts(const Dim &dim, int64_t divisor) {
  Dim quotient, rest;
  for (auto &[key, term] : dim.terms) {
    const int64_t whole = floorDivide(term.coefficient, divisor);
    const bool divides = key.empty() || term.coefficient % divisor == 0;
    Dim::Term multiple = term, left = term;
    multiple.coefficient = divides ? whole : 0;
    left.coefficient = divides ? term.coefficient - whole * divisor : term.coefficient;
    quotient.add(multiple);
    rest.add(left);
  }
  return {quotient, rest};
}

const DimAtom *DimAtom::soleDivision(const Dim &dim) {
  const DimAtom *division = nullptr;
  for (auto &[key, term] : dim.terms) {
    if (key.empty())
      continue;
    if (division || term.coefficient != 1 || term.factors.size() != 1 || term.factors.begin()->second.second != 1)
      return nullptr;
    division = term.factors.begin()->second.first.get();
    if (division->op != DimOp::floorDiv || division->b.constantOr(0) <= 0)
      return nullptr;
  }
  return division;
}

Dim floorDiv(const Dim &a, const Dim &b) {
  if (a.isConstant() && b.isConstant())
    return floorDivide(a.constant(), b.constant());
  require(!(b.isConstant() && b.constant() == 0), "shape arithmetic divides by zero");
  if (auto exact = a.dividedExactlyBy(b))
    return *exact;
  if (!b.isConstant() || b.constant() < 0)
    return Dim::atom(makeAtom(DimOp::floorDiv, a, b));
  auto [multiple, rest] = DimAtom::divideParts(a, b.constant());
  if (!(multiple == Dim(0)))
    return multiple + floorDiv(rest, b);
  // floor((floor(p / q) + c) / b) = floor((p + c*q) / (b*q)): the strides of several layers become one division.
  if (const DimAtom *inner = DimAtom::soleDivision(rest))
    return floorDiv(inner->a + (rest - Dim::atom(std::make_shared<DimAtom>(*inner))) * inner->b, b * inner->b);
  return Dim::atom(makeAtom(DimOp::floorDiv, rest, b));
}

Dim ceilDiv(const Dim &a, const Dim &b) { return floorDiv(a + b - 1, b); }

Dim minimum(const Dim &a, const Dim &b) {
  if (a == b)
    return a;
  if (a.isConstant() && b.isConstant())
    return std::min(a.constant(), b.constant());
  return Dim::atom(makeAtom(DimOp::minimum, a, b));
}

Dim maximum(const Dim &a, const Dim &b) {
  if (a == b)
    return a;
  if (a.isConstant() && b.isConstant())
    return std::max(a.constant(), b.constant());
  return Dim::atom(makeAtom(DimOp::maximum, a, b));
}

void DimAtom::collectBroadcast(const Dim &dim, std::map<std::string, Dim> &parts) {
  if (dim.terms.size() == 1) {
    const Dim::Term &term = dim.terms.begin()->second;
    if (term.coefficient == 1 && term.factors.size() == 1 && term.factors.begin()->second.second == 1)
      if (const DimAtom &atom = *term.factors.begin()->second.first; atom.op == DimOp::broadcast) {
        collectBroadcast(atom.a, parts);
        return collectBroadcast(atom.b, parts);
      }
  }
  parts.emplace(dim.str(), dim);
}

Dim DimAtom::broadcast(const Dim &a, const Dim &b) {
  std::map<std::string, Dim> parts; // in the order of their texts, each once: the same for any order of operands
  collectBroadcast(a, parts);
  collectBroadcast(b, parts);
  parts.erase("1");
  std::optional<Dim> result;
  for (const auto &[text, part] : parts) {
    if (part.isConstant())
      return part;
    result = result ? Dim::atom(makeAtom(DimOp::broadcast, *result, part)) : part;
  }
  return result.value_or(1);
}

Dim DimAtom::lowerBound(const Dim &dim) {
  Dim bound;
  for (auto &[key, term] : dim.terms) {
    const DimAtom *atom = term.factors.size() == 1 ? term.factors.begin()->second.first.get() : nullptr;
    const bool divides = atom && term.factors.begin()->second.second == 1 && atom->op == DimOp::floorDiv;
    const int64_t divisor = divides ? atom->b.constantOr(0) : 0;
    if (divisor <= 0 || term.coefficient % divisor != 0) {
      bound.add(term);
      continue;
    }
    // (p - divisor + 1) / divisor <= floor(p / divisor) <= p / divisor
    const Dim p = term.coefficient > 0 ? atom->a - divisor + 1 : atom->a;
    bound = bound + p * (term.coefficient / divisor);
  }
  return bound;
}

Dim lowerBound(const Dim &extent) { return DimAtom::lowerBound(extent); }

Dim broadcastDim(const Dim &a, const Dim &b) { return DimAtom::broadcast(a, b); }

Dim varies(const Dim &extent) {
  if (extent.isConstant())
    return extent.constant() != 1;
  return minimum(maximum(extent - 1, Dim(1) - extent), 1);
}

int64_t Dim::evaluate(const std::function<int64_t(const std::string &)> &lookup) const {
  auto value = [&](const DimAtom &atom) -> int64_t {
    switch (atom.op) {
    case DimOp::symbol:
      return lookup(atom.name);
    case DimOp::floorDiv:
      return floorDivide(atom.a.evaluate(lookup), atom.b.evaluate(lookup));
    case DimOp::minimum:
      return std::min(atom.a.evaluate(lookup), atom.b.evaluate(lookup));
    case DimOp::maximum:
      return std::max(atom.a.evaluate(lookup), atom.b.evaluate(lookup));
    case DimOp::broadcast: {
      const int64_t first = atom.a.evaluate(lookup);
      return first == 1 ? atom.b.evaluate(lookup) : first;
    }
    }
    return 0;
  };
  int64_t sum = 0;
  for (auto &[key, term] : terms) {
    int64_t product = term.coefficient;
    for (auto &[atomKey, factor] : term.factors)
      for (int i = 0; i < factor.second; ++i)
        product = checkedMultiply(product, value(*factor.first));
    sum = checkedAdd(sum, product);
  }
  return sum;
}

Dim Dim::substitute(const std::function<std::optional<Dim>(const std::string &)> &lookup) const {
  auto replace = [&](const std::shared_ptr<const DimAtom> &a) -> Dim {
    switch (a->op) {
    case DimOp::symbol: {
      auto known = lookup(a->name);
      return known ? *known : atom(a);
    }
    case DimOp::floorDiv:
      return floorDiv(a->a.substitute(lookup), a->b.substitute(lookup));
    case DimOp::minimum:
      return minimum(a->a.substitute(lookup), a->b.substitute(lookup));
    case DimOp::maximum:
      return maximum(a->a.substitute(lookup), a->b.substitute(lookup));
    case DimOp::broadcast:
      return DimAtom::broadcast(a->a.substitute(lookup), a->b.substitute(lookup));
    }
    return 0;
  };
  Dim result;
  for (auto &[key, term] : terms) {
    Dim product = term.coefficient;
    for (auto &[atomKey, factor] : term.factors)
      for (int i = 0; i < factor.second; ++i)
        product = product * replace(factor.first);
    result = result + product;
  }
  return result;
}

void Dim::collectSymbols(std::vector<std::string> &names) const {
  for (auto &[key, term] : terms)
    for (auto &[atomKey, factor] : term.factors) {
      const DimAtom &atom = *factor.first;
      if (atom.op != DimOp::symbol) {
        atom.a.collectSymbols(names);
        atom.b.collectSymbols(names);
      } else if (std::find(names.begin(), names.end(), atom.name) == names.end()) {
        names.push_back(atom.name);
      }
    }
}

std::string Dim::str() const {
  if (isConstant())
    return std::to_string(constant());
  std::string result;
  for (auto &[key, term] : terms) {
    if (key.empty())
      continue; // the constant comes last
    if (!result.empty())
      result += " + ";
    result += key;
    if (term.coefficient != 1)
      result += fmt::format("*{}", term.coefficient);
  }
  if (auto it = terms.find(""); it != terms.end())
    result += fmt::format(" + {}", it->second.coefficient);
  return result;
}

/// Parses `Dim::str`'s output: sums of products of integers, symbols and calls of floordiv, min, max and broadcast.
class DimParser {
public:
  explicit DimParser(const std::string &text) : text(text) {}
  Dim parseAll() {
    Dim result = sum();
    skipSpace();
    require(at == text.size(), "extent '{}': unexpected '{}'", text, text.substr(at));
    return result;
  }

private:
  const std::string &text;
  size_t at = 0;

  void skipSpace() {
    while (at < text.size() && text[at] == ' ')
      ++at;
  }
  bool take(char c) {
    skipSpace();
    if (at < text.size() && text[at] == c)
      return ++at, true;
    return false;
  }
  Dim sum() {
    Dim result = productOf();
    while (true) {
      if (take('+'))
        result = result + productOf();
      else if (take('-'))
        result = result - productOf();
      else
        return result;
    }
  }
  Dim productOf() {
    Dim result = factor();
    while (take('*'))
      result = result * factor();
    return result;
  }
  Dim factor() {
    skipSpace();
    size_t start = at;
    if (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) || text[at] == '-')) {
      ++at;
      while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
        ++at;
      try {
        return Dim(static_cast<int64_t>(std::stoll(text.substr(start, at - start))));
      } catch (const std::exception &) {
        fail("extent '{}': '{}' is not a 64-bit integer", text, text.substr(start, at - start));
      }
    }
    while (at < text.size() && !std::isspace(static_cast<unsigned char>(text[at])) && !strchr("+*(),", text[at]))
      ++at;
    std::string word = text.substr(start, at - start);
    require(!word.empty(), "extent '{}': expected a number or a symbol at position {}", text, start);
    if (!take('('))
      return Dim::symbol(word);
    Dim a = sum();
    require(take(','), "extent '{}': '{}' needs two arguments", text, word);
    Dim b = sum();
    require(take(')'), "extent '{}': '(' is not closed", text);
    if (word == "floordiv")
      return floorDiv(a, b);
    if (word == "min")
      return minimum(a, b);
    if (word == "max")
      return maximum(a, b);
    if (word == "broadcast")
      return broadcastDim(a, b);
    fail("extent '{}': unknown function '{}'", text, word);
  }
};

Dim Dim::parse(const std::string &text) { return DimParser(text).parseAll(); }

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim &d : dims)
    result = result * d;
  return result;
}

std::string str(std::span<const Dim> dims) {
  std::string result;
  for (const Dim &d : dims)
    result += (result.empty() ? "" : "x") + d.str();
  return result.empty() ? "scalar" : result;
}

bool allConstant(std::span<const Dim> dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim &d) { return d.isConstant(); });
}

std::vector<int64_t> constants(std::span<const Dim> dims) {
  std::vector<int64_t> result;
  for (const Dim &d : dims)
    result.push_back(d.constant());
  return result;
}

Dims toDims(std::span<const int64_t> dims) { return Dims(dims.begin(), dims.end()); }

} // namespace lathe
