// Symbolic extents: what a shape is made of before the batch is known.
//
// A `Dim` is an integer polynomial over atoms, kept in one canonical form so that equal extents compare equal
// (N*56*4 == 4*N*56). An atom is an input symbol ("N", bound when a model runs) or an opaque operation on
// polynomials (floor division, minimum, maximum). Shape functions compute on Dims, so the same function serves static
// shapes, shapes with a symbolic batch, and the plan's run-time shape arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct DimAtom;

class Dim {
public:
  Dim() = default;
  Dim(int64_t constant);
  Dim(int constant) : Dim(static_cast<int64_t>(constant)) {}

  /// The extent called `name`; two symbols of one name are the same extent.
  static Dim symbol(std::string name);

  bool isConstant() const;
  /// The value; must be constant.
  int64_t constant() const;
  /// The value, or `fallback` where it depends on a symbol.
  int64_t constantOr(int64_t fallback) const { return isConstant() ? constant() : fallback; }

  /// Evaluates with `lookup` giving the value of each symbol.
  int64_t evaluate(const std::function<int64_t(const std::string &)> &lookup) const;

  /// Replaces symbols for which `lookup` returns an extent.
  Dim substitute(const std::function<std::optional<Dim>(const std::string &)> &lookup) const;

  /// Names of all symbols this extent depends on, appended to `names` without duplicates.
  void collectSymbols(std::vector<std::string> &names) const;

  /// "N*56", "floordiv(N + 1, 2)", "224"; `parse` reads it back.
  std::string str() const;
  static Dim parse(const std::string &text);

  friend Dim operator+(const Dim &a, const Dim &b);
  friend Dim operator-(const Dim &a, const Dim &b);
  friend Dim operator*(const Dim &a, const Dim &b);
  friend Dim floorDiv(const Dim &a, const Dim &b);
  friend Dim ceilDiv(const Dim &a, const Dim &b);
  friend Dim minimum(const Dim &a, const Dim &b);
  friend Dim maximum(const Dim &a, const Dim &b);
  /// Equal for every value of the symbols, as far as the canonical form can tell.
  friend bool operator==(const Dim &a, const Dim &b) { return a.str() == b.str(); }

  /// The exact quotient if `divisor` divides every coefficient or is a common factor; otherwise nothing.
  std::optional<Dim> dividedExactlyBy(const Dim &divisor) const;

private:
  using Monomial = std::map<std::string, std::pair<std::shared_ptr<const DimAtom>, int>>; // atom text -> atom, power
  struct Term {
    Monomial factors;
    int64_t coefficient = 0;
  };
  std::map<std::string, Term> terms; // monomial text -> term; no zero coefficients; "" is the constant

  void add(const Term &term);
  static Dim atom(std::shared_ptr<const DimAtom> atom);
  static std::string text(const Monomial &monomial);
  friend struct DimAtom;
  friend class DimParser;
};

using Dims = std::vector<Dim>;

/// Product of all extents (1 for a scalar).
Dim product(std::span<const Dim> dims);
/// "1x3x224x224", "Nx3x224x224".
std::string str(std::span<const Dim> dims);
/// True when every extent is constant; then `constants` gives the values.
bool allConstant(std::span<const Dim> dims);
std::vector<int64_t> constants(std::span<const Dim> dims);
Dims toDims(std::span<const int64_t> dims);

} // namespace lathe
