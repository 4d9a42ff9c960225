// Common code of problems prepared with XNNPACK. XNNPACK uses channels-last activations, which are converted while
// preparing. Its operators pack weights when they are created, so weights must be constant.
#pragma once

#include "lab/providers/Provider.h"

#include <xnnpack.h>

#include <memory>

namespace lathe::lab::xnnpack {

/// Throws for a status of XNNPACK other than success: Declined for parameters or hardware that are not supported, Error
/// for other failures.
void check(xnn_status status, const char *what);

struct DeleteOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
struct DeletePool {
  void operator()(pthreadpool_t pool) const { pthreadpool_destroy(pool); }
};
using Pool = std::unique_ptr<pthreadpool, DeletePool>;

/// Elements of a tensor, followed by the padding that XNNPACK may read.
using Buffer = std::vector<float>;
Buffer bufferOf(int64_t elements);
Buffer rowMajor(const Tensor &tensor);
/// The elements of a tensor with axis 1 moved to the end.
Buffer channelsLast(const Tensor &tensor);

/// A problem that is being prepared.
class Job {
public:
  Job(const Problem &problem, const ProblemInputs &inputs, int threads);

  const Problem problem;
  const ProblemInputs inputs; // values of the operands, row-major
  const ProblemOperand result;
  const Pool pool;
  std::unique_ptr<xnn_operator, DeleteOperator> op;
  Buffer in[2], out;
  bool inputIsChannelsLast = false, outputIsChannelsLast = false;

  const ProblemOperand *operand(size_t index) const; // operand at this position of the operator's record; null: missing
  /// The least and greatest value of the result, from the epilogue, which must be empty or one relu. Throws Declined
  /// for another epilogue.
  std::pair<float, float> limits() const;
  /// For operators that cannot limit their result: throws Declined if there is an epilogue.
  void expectNoEpilogue() const;
  /// Throws Declined unless operand `index` is missing or constant.
  void expectConstant(size_t index) const;
  /// Stores the first operand in `in[0]`, channels last.
  void giveChannelsLast();
  Tensor output() const; // result of the last run, row-major

  /// Stores the operator that `create` makes; `create` is xnn_create_... , called with `arguments`
  /// and the result pointer.
  template <class Create, class... Arguments> void make(Create create, Arguments... arguments) {
    xnn_operator_t made = nullptr;
    check(create(arguments..., &made), "making the operator");
    op.reset(made);
  }
};

/// Prepares `job` and returns the name of the implementation. May throw Declined.
using Prepare = std::string (*)(Job &job);
std::string prepareConv(Job &job);
std::string prepareFullyConnected(Job &job); // serves gemm and matmul
std::string prepareMaxPool(Job &job);
std::string prepareAveragePool(Job &job);
std::string prepareGlobalAverage(Job &job); // serves reduce_mean
std::string prepareResize(Job &job);
std::string prepareSoftmax(Job &job);
std::string prepareUnary(Job &job);
std::string prepareBinary(Job &job);

} // namespace lathe::lab::xnnpack
