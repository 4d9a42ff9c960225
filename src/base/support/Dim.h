// Open extents: extents of a shape that are not known yet, such as the batch (docs/architecture.md, Words).
//
// A `Dim` is an integer polynomial over atoms in canonical form, so equal extents compare equal (N*56*4 == 4*N*56). An
// atom is an input symbol ("N", bound when a model runs) or an opaque operation on polynomials (floor division,
// minimum, maximum). Shape functions compute on Dims, so one function serves static shapes, shapes with an open batch,
// and the run-time shape arithmetic of a plan.
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

  /// The extent that is the symbol `name`. Two symbols with the same name are the same extent.
  static Dim symbol(std::string name);

  bool isConstant() const;
  /// Returns the value of a constant extent. The extent must be constant.
  int64_t constant() const;
  /// The number that a constant extent is; `fallback` if the extent depends on a symbol.
  int64_t constantOr(int64_t fallback) const { return isConstant() ? constant() : fallback; }

  /// The value of the extent for given symbols; `lookup` returns the value of each symbol.
  int64_t evaluate(const std::function<int64_t(const std::string &)> &lookup) const;

  /// Returns the extent with each symbol for which `lookup` returns an extent replaced by that extent.
  Dim substitute(const std::function<std::optional<Dim>(const std::string &)> &lookup) const;

  /// Appends the names of all symbols in this extent to `names`, without duplicates.
  void collectSymbols(std::vector<std::string> &names) const;

  /// The extent as text, such as "N*56", "floordiv(N + 1, 2)" or "224". `parse` reads it back.
  std::string str() const;
  static Dim parse(const std::string &text);

  friend Dim operator+(const Dim &a, const Dim &b);
  friend Dim operator-(const Dim &a, const Dim &b);
  friend Dim operator*(const Dim &a, const Dim &b);
  friend Dim floorDiv(const Dim &a, const Dim &b);
  friend Dim ceilDiv(const Dim &a, const Dim &b);
  friend Dim minimum(const Dim &a, const Dim &b);
  friend Dim maximum(const Dim &a, const Dim &b);
  /// True if the canonical forms of two extents are equal. Extents with different canonical forms may still have equal
  /// values.
  friend bool operator==(const Dim &a, const Dim &b) { return a.str() == b.str(); }

  /// The quotient of this extent and `divisor` if the division is exact, because `divisor` is a number that divides
  /// every coefficient or a common factor of all terms; otherwise nothing.
  std::optional<Dim> dividedExactlyBy(const Dim &divisor) const;

private:
  /// A product of powers of atoms: by the text of an atom, the atom and its power.
  using Monomial = std::map<std::string, std::pair<std::shared_ptr<const DimAtom>, int>>;
  struct Term {
    Monomial factors;
    int64_t coefficient = 0;
  };
  std::map<std::string, Term> terms; // terms by the text of their monomial ("": the constant); no coefficient is zero

  void add(const Term &term);
  static Dim atom(std::shared_ptr<const DimAtom> atom);
  static std::string text(const Monomial &monomial);
  friend struct DimAtom;
  friend class DimParser;
};

using Dims = std::vector<Dim>;

/// Product of a tensor's extents (1 for a scalar).
Dim product(std::span<const Dim> dims);
/// A tensor's extents as text: "1x3x224x224", "Nx3x224x224".
std::string str(std::span<const Dim> dims);
/// True if every extent of a tensor is constant. Then `constants` returns the numbers.
bool allConstant(std::span<const Dim> dims);
std::vector<int64_t> constants(std::span<const Dim> dims);
Dims toDims(std::span<const int64_t> dims);

} // namespace lathe
