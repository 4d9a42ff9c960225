#include "passes/kernels/MeasuredLayout.h"

namespace lathe {
namespace {

/// Share of a predicted cost by which two forms of one kernel may be predicted wrong relative to each other.
constexpr double flattery = 0.15;
constexpr double nanoseconds = 1e9; // of a second: the unit of the cut, which counts sixteenths of it

class MeasuredLayout {
public:
  MeasuredLayout(const LayoutProblem &problem, const LayoutPrices &predicted, const Layouts &standard,
                 const LayoutCosts &measured)
      : problem(problem), predicted(predicted), standard(standard), measured(measured),
        rival(problem.solve(flattered(), &standard)) {}

  Layouts run() const {
    if (rival == standard)
      return standard;
    LayoutPrices prices;
    for (const LayoutOperator &one : problem.operators)
      prices.operators.push_back(operatorPrices(one));
    for (const LayoutValue &value : problem.values) {
      prices.conversions.push_back({conversionPrice(value, false), conversionPrice(value, true)});
      prices.partings.push_back(partingPrice(value));
    }
    return problem.solve(prices, &standard);
  }

private:
  static constexpr double impossible = LayoutPrices::impossible;
  const LayoutProblem &problem;
  const LayoutPrices &predicted;
  const Layouts &standard;
  const LayoutCosts &measured;
  const Layouts rival;

  LayoutPrices flattered() const {
    constexpr double share = 1 - flattery;
    LayoutPrices prices = predicted;
    for (size_t i = 0; i < problem.operators.size(); ++i)
      for (bool input : {false, true})
        for (bool output : {false, true})
          if (const LayoutOperator &one = problem.operators[i];
              input != standard[one.input] || output != standard[one.output])
            prices.operators[i][input][output] *= share;
    for (size_t i = 0; i < problem.values.size(); ++i) {
      for (bool toBlocked : {false, true})
        if (!problem.converts(standard, problem.values[i], toBlocked))
          prices.conversions[i][toBlocked] *= share;
      if (!parts(problem.values[i]))
        prices.partings[i] *= share;
    }
    return prices;
  }

  bool differs(const LayoutOperator &one) const {
    return standard[one.input] != rival[one.input] || standard[one.output] != rival[one.output];
  }

  /// True if the producer of the value or one of its users may change.
  bool isNear(const LayoutValue &value) const {
    return standard[value.producer] != rival[value.producer] ||
           llvm::any_of(value.uses, [&](auto &use) { return standard[use.second] != rival[use.second]; });
  }

  /// True if the default layouts separate the value from its epilogue.
  bool parts(const LayoutValue &value) const {
    return value.epilogue && standard[value.producer] != standard[value.uses[0].second];
  }

  /// The price of a measured kernel. `has`: it occurs with the default layouts; without a time it then costs nothing.
  static double price(const Outcome<double> &seconds, bool has) {
    if (!seconds)
      return has ? 0 : impossible;
    return nanoseconds * *seconds * (has ? 1 : 1 + measuredDoubt);
  }

  CostByLayout operatorPrices(const LayoutOperator &one) const {
    CostByLayout prices;
    prices[0] = prices[1] = {impossible, impossible};
    double &here = prices[standard[one.input]][standard[one.output]];
    here = 0; // a cost that no solution can avoid counts as 0
    if (!one.chooses() || !differs(one))
      return prices;
    Outcome<double> now = measured.costOf(one.op, one.rule, standard[one.input], standard[one.output]),
                    then = measured.costOf(one.op, one.rule, rival[one.input], rival[one.output]);
    if (now && then) {
      here = price(now, true);
      prices[rival[one.input]][rival[one.output]] = price(then, false);
    }
    return prices;
  }

  double conversionPrice(const LayoutValue &value, bool toBlocked) const {
    if (!isNear(value))
      return 0; // neither the producer nor a user can change
    if (measured.convertsForFree(value.value))
      return 1;
    return price(measured.conversion(value.value, toBlocked), problem.converts(standard, value, toBlocked));
  }

  double partingPrice(const LayoutValue &value) const {
    return value.epilogue && isNear(value) ? price(measured.alone(value.epilogue), parts(value)) : 0;
  }
};

} // namespace

Layouts layoutsByMeasurement(const LayoutProblem &problem, const LayoutPrices &predicted, const Layouts &standard,
                             const LayoutCosts &measured) {
  return MeasuredLayout(problem, predicted, standard, measured).run();
}

} // namespace lathe
