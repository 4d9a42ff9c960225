#include "ops/ReferenceSupport.h"
#include "ops/recurrent/Recurrent.h"

namespace lathe {
namespace {

template <class T> T activate(const CellActivation &function, T x) {
  T alpha = static_cast<T>(function.alpha), beta = static_cast<T>(function.beta);
  const std::string &name = function.name;
  if (name == "sigmoid")
    return 1 / (1 + std::exp(-x));
  if (name == "tanh")
    return std::tanh(x);
  if (name == "relu")
    return x < 0 ? T(0) : x;
  if (name == "affine")
    return alpha * x + beta;
  if (name == "leaky_relu")
    return x < 0 ? alpha * x : x;
  if (name == "thresholded_relu")
    return x > alpha ? x : T(0);
  if (name == "scaled_tanh")
    return alpha * std::tanh(beta * x);
  if (name == "hard_sigmoid")
    return std::max(T(0), std::min(T(1), alpha * x + beta));
  if (name == "elu")
    return x < 0 ? alpha * std::expm1(x) : x;
  if (name == "softsign")
    return x / (1 + std::abs(x));
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); // softplus
}

/// One row of the batch in one direction.
template <class T> class Row {
public:
  Row(const RecurrentForm &form, ReferenceCall &call, int64_t d, int64_t row)
      : form(form), call(call), d(d), row(row), steps(call.in(form.x).dim(0)), rows(call.in(form.x).dim(1)),
        hidden(call.in(form.r).dim(2)), gates(form.gates()), h(hidden), c(hidden), input(gates * hidden),
        fromHidden(gates * hidden) {}

  void run() {
    int64_t length = steps;
    if (call.has(form.lengths)) {
      length = call.in(form.lengths).asInteger(row);
      require(length >= 0 && length <= steps, "{}_c5: sequence_lens[{}] is {}, expected a number from 0 to {}", form.op,
              row, length, steps);
    }
    int64_t state = (d * rows + row) * hidden;
    for (int64_t j = 0; j < hidden && length > 0; ++j) { // a row without steps has state 0
      h[j] = call.has(form.initialH) ? call.in(form.initialH).as<T>()[state + j] : T(0);
      c[j] = call.has(form.initialC) ? call.in(form.initialC).as<T>()[state + j] : T(0);
    }
    T *y = call.out(0).as<T>();
    auto place = [&](int64_t t) { return y + ((t * form.directions() + d) * rows + row) * hidden; };
    for (int64_t s = 0; s < length; ++s) {
      int64_t t = form.reversed(d) ? length - 1 - s : s;
      inputShare(t);
      step();
      std::copy(h.begin(), h.end(), place(t));
    }
    for (int64_t t = length; t < steps; ++t)
      std::fill_n(place(t), hidden, T(0));
    std::copy(h.begin(), h.end(), call.out(1).as<T>() + state);
    if (form.cell == Cell::lstm)
      std::copy(c.begin(), c.end(), call.out(2).as<T>() + state);
  }

private:
  const RecurrentForm &form;
  ReferenceCall &call;
  const int64_t d, row, steps, rows, hidden, gates;
  std::vector<T> h, c, input, fromHidden; // state; contributions to every gate

  T bias(int64_t index) const {
    return call.has(form.b) ? call.in(form.b).as<T>()[d * 2 * gates * hidden + index] : T(0);
  }

  void inputShare(int64_t t) {
    const T *x = call.in(form.x).as<T>();
    for (int64_t i = 0; i < gates * hidden; ++i) {
      if (!call.has(form.w)) {
        input[i] = x[((t * rows + row) * form.directions() + d) * gates * hidden + i];
        continue;
      }
      int64_t extent = call.in(form.x).dim(2);
      const T *w = call.in(form.w).as<T>() + (d * gates * hidden + i) * extent, *from = x + (t * rows + row) * extent;
      input[i] = bias(i);
      for (int64_t k = 0; k < extent; ++k)
        input[i] += from[k] * w[k];
    }
  }

  /// Computes fromHidden of one gate: state * r plus the bias of this product.
  void hiddenShare(int64_t gate, const std::vector<T> &state) {
    const T *r = call.in(form.r).as<T>() + (d * gates + gate) * hidden * hidden;
    bool own = gate == 2 && call.has(form.hiddenBias);
    for (int64_t j = 0; j < hidden; ++j) {
      T sum = own ? call.in(form.hiddenBias).as<T>()[d * hidden + j] : bias((gates + gate) * hidden + j);
      for (int64_t k = 0; k < hidden; ++k)
        sum += state[k] * r[j * hidden + k];
      fromHidden[gate * hidden + j] = sum;
    }
  }

  T function(int64_t index, T x) const {
    T limit = static_cast<T>(form.clip);
    return activate(form.activation(d, index), x < -limit ? -limit : x > limit ? limit : x); // NaN stays
  }
  T gate(int64_t g, int64_t j) const { return input[g * hidden + j] + fromHidden[g * hidden + j]; }

  void step() {
    if (form.cell == Cell::lstm)
      lstm();
    else if (form.cell == Cell::gru)
      gru();
    else
      rnn();
  }

  void lstm() {
    for (int64_t g = 0; g < 4; ++g)
      hiddenShare(g, h);
    const T *p = call.has(form.p) ? call.in(form.p).as<T>() + d * 3 * hidden : nullptr;
    for (int64_t j = 0; j < hidden; ++j) {
      T i = function(0, gate(0, j) + (p ? p[j] * c[j] : T(0)));
      T f = form.inputForget ? 1 - i : function(0, gate(2, j) + (p ? p[2 * hidden + j] * c[j] : T(0)));
      c[j] = f * c[j] + i * function(1, gate(3, j));
      T o = function(0, gate(1, j) + (p ? p[hidden + j] * c[j] : T(0)));
      h[j] = o * activate(form.activation(d, 2), c[j]);
    }
  }

  void gru() {
    hiddenShare(0, h);
    hiddenShare(1, h);
    std::vector<T> reset(hidden), scaled(hidden);
    for (int64_t j = 0; j < hidden; ++j) {
      reset[j] = function(0, gate(1, j));
      scaled[j] = reset[j] * h[j];
    }
    hiddenShare(2, form.linearBeforeReset ? h : scaled);
    for (int64_t j = 0; j < hidden; ++j) {
      T z = function(0, gate(0, j));
      T factor = form.linearBeforeReset ? reset[j] : T(1);
      T n = function(1, input[2 * hidden + j] + factor * fromHidden[2 * hidden + j]);
      h[j] = (1 - z) * n + z * h[j];
    }
  }

  void rnn() {
    hiddenShare(0, h);
    for (int64_t j = 0; j < hidden; ++j)
      h[j] = function(0, gate(0, j));
  }
};

} // namespace

void runRecurrent(const Attrs &attrs, ReferenceCall &call) {
  RecurrentForm form = recurrentForm(attrs);
  int64_t rows = call.in(form.x).dim(1);
  forFloat(call.in(form.x).type(), [&]<class T>(T) {
    call.parallelFor(form.directions() * rows, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit)
        Row<T>(form, call, unit / rows, unit % rows).run();
    });
  });
}

} // namespace lathe
