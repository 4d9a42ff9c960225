// Code that all benchmark problems prepared with XNNPACK share. XNNPACK uses channels-last activations, so they are
// converted while a problem is prepared. Its operators pack weights when they are created, so weights must be
// constant.
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
/// Returns the elements of a tensor with axis 1 (the channels) moved to the end.
Buffer channelsLast(const Tensor &tensor);

/// A benchmark problem that is being prepared.
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

  // operand at position `index` of the operator's record; null: missing
  const ProblemOperand *operand(size_t index) const;
  /// Returns the least and the greatest value that the epilogue (operators after the main one) allows in the result.
  /// The epilogue must be empty or one relu. Throws Declined for another epilogue.
  std::pair<float, float> limits() const;
  /// Throws Declined if there is an epilogue. For operators that cannot limit their result.
  void expectNoEpilogue() const;
  /// Throws Declined unless operand `index` is missing or constant.
  void expectConstant(size_t index) const;
  /// Stores the first operand in `in[0]`, channels last.
  void giveChannelsLast();
  Tensor output() const; // result of the last run, row-major

  /// Makes an XNNPACK operator and stores it in `op`. `create` is a function xnn_create_..., which is called with
  /// `arguments` and the pointer for the result.
  template <class Create, class... Arguments> void make(Create create, Arguments... arguments) {
    xnn_operator_t made = nullptr;
    check(create(arguments..., &made), "making the operator");
    op.reset(made);
  }
};

/// Function that prepares `job` and returns the name of XNNPACK's implementation. May throw Declined.
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
