#include "lab/providers/lathe/LonePackage.h"

#include "compile/Compile.h"
#include "ir/Context.h"

namespace lathe::lab {

Outcome<std::unique_ptr<LonePackage>> LonePackage::make(const Problem &problem, const std::string &target, int threads,
                                                        const ProblemInputs &inputs, BuildResults build) {
  auto context = makeContext();
  auto module = problemGraph(context.get(), problem, inputs, build);
  auto made = std::make_unique<LonePackage>();
  made->bytes = std::make_shared<std::vector<char>>();
  CompileOptions options;
  options.target = target;
  options.threads = threads;
  CompileReport report = compileToBytes(*module, options, *made->bytes);
  if (!report.references.empty())
    return NotApplicable{
        fmt::format("{} is left to its reference: {}", report.references[0].op, report.references[0].reason)};
  made->context = std::make_unique<runtime::Context>(
      runtime::Model::fromBytes(*made->bytes, problem.op, made->bytes, {.checkConstants = false}),
      runtime::ContextOptions{.threads = threads});
  size_t next = 0;
  auto operands = problem.inputs();
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i] && !operands[i]->constant)
      made->context->setInput(next++, inputs[i]);
  made->context->run();
  for (size_t i = 0; i < made->context->instructionCount(); ++i) {
    auto info = made->context->instruction(i);
    if (std::string_view(info.kind) == "kernel")
      made->description += fmt::format("{}{}", made->description.empty() ? "" : "; ", info.schedule);
  }
  if (made->description.empty())
    made->description = "no kernel: the bytes stay as they are";
  made->description += ", in a package of its own, row-major";
  return made;
}

std::vector<Tensor> LonePackage::outputs() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context->model().outputs().size(); ++i)
    outputs.push_back(context->output(i).tensor());
  return outputs;
}

} // namespace lathe::lab
