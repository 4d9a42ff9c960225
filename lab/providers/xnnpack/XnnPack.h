// What preparing a problem with XNNPACK fills in, whatever the operator. Its layout is channels last, to which
// activations are brought while preparing; its operators pack weights when they are made, so those must be constant.
#pragma once

#include "lab/providers/Provider.h"

#include <xnnpack.h>

#include <memory>

namespace lathe::lab::xnnpack {

/// Thrown where XNNPACK refuses: the problem is declined for this reason.
struct Declined {
  std::string reason;
};

/// Throws Declined for parameters or hardware that are not supported, Error for other failures.
void check(xnn_status status, const char *what);

struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
struct DeletePool {
  void operator()(pthreadpool_t pool) const { pthreadpool_destroy(pool); }
};
using Pool = std::unique_ptr<pthreadpool, DeletePool>;

/// Elements with what XNNPACK may read behind them.
using Buffer = std::vector<float>;
Buffer bufferOf(int64_t elements);
Buffer rowMajor(const Tensor &tensor);
/// Axis 1 becomes the last one.
Buffer channelsLast(const Tensor &tensor);

/// A problem on its way to an operator.
class Job {
public:
  Job(const Problem &problem, const ProblemInputs &inputs, int threads);

  const Problem problem;
  const ProblemInputs inputs; // row-major
  const ProblemOperand result;
  const Pool pool;
  std::unique_ptr<xnn_operator, DeleteOperator> op;
  Buffer in[2], out;
  bool inputIsChannelsLast = false, outputIsChannelsLast = false;

  const ProblemOperand *operand(size_t index) const; // of the record; null where it is missing
  /// Limits of the result: those of the epilogue, which is a relu or nothing. Throws Declined for another one.
  std::pair<float, float> limits() const;
  /// Of operators without limits. Throws Declined.
  void expectNoEpilogue() const;
  /// Throws Declined unless operand `index` is missing or constant.
  void expectConstant(size_t index) const;
  /// The first operand's values as `in[0]`, channels last.
  void giveChannelsLast();
  Tensor output() const; // row-major

  /// Keeps what `create` makes: a call of xnn_create_... without its last argument.
  template <class Create, class... Arguments> void make(Create create, Arguments... arguments) {
    xnn_operator_t made = nullptr;
    check(create(arguments..., &made), "making the operator");
    op.reset(made);
  }
};

/// Prepares `job`; hands back the implementation's name. May throw Declined.
using Prepare = std::string (*)(Job &job);
std::string prepareConv(Job &job);
std::string prepareFullyConnected(Job &job); // gemm and matmul
std::string prepareMaxPool(Job &job);
std::string prepareAveragePool(Job &job);
std::string prepareGlobalAverage(Job &job); // reduce_mean
std::string prepareResize(Job &job);
std::string prepareSoftmax(Job &job);
std::string prepareUnary(Job &job);
std::string prepareBinary(Job &job);

} // namespace lathe::lab::xnnpack
