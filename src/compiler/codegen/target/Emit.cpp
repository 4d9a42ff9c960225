#include "codegen/target/Emit.h"

#include "support/Error.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace lathe {
namespace {

void lowerToLlvmDialect(mlir::ModuleOp module) {
  mlir::MLIRContext *context = module.getContext();
  mlir::PassManager passes(context);
  passes.enableVerifier(false);
  passes.addPass(mlir::createConvertSCFToCFPass());
  mlir::ConvertVectorToLLVMPassOptions vectorOptions;
  passes.addPass(mlir::createConvertVectorToLLVMPass(vectorOptions));
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  require(mlir::succeeded(passes.run(module)), "internal: a kernel could not be lowered to the LLVM dialect");
}

/// Differences between the CPU's own features and the target's, as LLVM spells them.
std::string featureString(const Target &target, const llvm::Target &llvmTarget) {
  std::unique_ptr<llvm::MCSubtargetInfo> plain(llvmTarget.createMCSubtargetInfo(target.triple, target.cpu, ""));
  std::string text;
  // Removals first: removing a feature also removes those that imply it.
  for (bool removal : {true, false})
    for (const llvm::SubtargetFeatureKV &kv : plain->getAllProcessorFeatures()) {
      bool named = plain->getFeatureBits().test(kv.Value), wanted = target.has(kv.Key);
      if (removal ? named && !wanted : wanted)
        text += std::string(text.empty() ? "" : ",") + (removal ? "-" : "+") + kv.Key;
    }
  return text;
}

std::unique_ptr<llvm::LLVMTargetMachine> makeMachine(const Target &target) {
  std::string error;
  const llvm::Target *llvmTarget = llvm::TargetRegistry::lookupTarget(target.triple, error);
  require(llvmTarget, "target {}: {}", target.triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  options.EmulatedTLS = false;
  std::unique_ptr<llvm::TargetMachine> machine(
      llvmTarget->createTargetMachine(target.triple, target.cpu, featureString(target, *llvmTarget), options,
                                      llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  return std::unique_ptr<llvm::LLVMTargetMachine>(static_cast<llvm::LLVMTargetMachine *>(machine.release()));
}

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp module, llvm::LLVMContext &context, const Target &target,
                                        llvm::TargetMachine &machine) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> result = mlir::translateModuleToLLVMIR(module, context, "kernel", true);
  require(result != nullptr, "internal: a kernel could not be translated to LLVM IR");
  result->setDataLayout(machine.createDataLayout());
  result->setTargetTriple(target.triple);
  result->setPICLevel(llvm::PICLevel::BigPIC);
  for (llvm::GlobalVariable &global : result->globals())
    global.setDSOLocal(true);
  for (llvm::Function &function : *result) {
    if (function.isIntrinsic())
      continue;
    function.setDSOLocal(true);
    if (!function.hasLocalLinkage())
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr("no-builtins");
    // Spilled vector registers then get aligned slots, whatever the caller's stack.
    function.addFnAttr("stackrealign");
    function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
  }
  return result;
}

/// A quick pipeline of the passes that generated kernels still gain from. LoopRotate matters most (scf.for becomes a
/// loop tested at the top).
void optimize(llvm::Module &module, llvm::LLVMTargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  functions.registerPass([&] {
    llvm::TargetLibraryInfoImpl info(machine.getTargetTriple());
    info.disableAllFunctions(); // kernels import nothing
    return llvm::TargetLibraryAnalysis(info);
  });
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loopPasses;
  loopPasses.addPass(llvm::LoopRotatePass());
  loopPasses.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

/// LLVM's code generation without its machine schedulers: they hoist broadcasts out of a register-blocked loop body and
/// spill accumulators, halving the speed of every contraction.
void generateCode(llvm::Module &module, llvm::LLVMTargetMachine &machine, llvm::raw_pwrite_stream &out,
                  llvm::CodeGenFileType kind) {
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl info(machine.getTargetTriple());
  info.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(info));
  auto *machineModule = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  config->disablePass(&llvm::MachineSchedulerID);
  config->disablePass(&llvm::PostRASchedulerID);
  config->disablePass(&llvm::PostMachineSchedulerID);
  passes.add(config);
  passes.add(machineModule);
  require(!config->addISelPasses(), "internal: no instruction selection for {}", module.getTargetTriple());
  config->addMachinePasses();
  config->setInitialized();
  require(!machine.addAsmPrinter(passes, out, nullptr, kind, machineModule->getMMI().getContext()),
          "internal: no object writer for {}", module.getTargetTriple());
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
}

void emit(mlir::ModuleOp module, const Target &target, llvm::raw_pwrite_stream &out, llvm::CodeGenFileType kind,
          bool codeGeneration) {
  lowerToLlvmDialect(module);
  llvm::LLVMContext context;
  auto machine = makeMachine(target);
  std::unique_ptr<llvm::Module> llvmModule = translate(module, context, target, *machine);
  optimize(*llvmModule, *machine);
  if (codeGeneration)
    generateCode(*llvmModule, *machine, out, kind);
  else
    llvmModule->print(out, nullptr);
}

} // namespace

std::vector<char> emitObject(mlir::ModuleOp module, const Target &target) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  emit(module, target, out, llvm::CodeGenFileType::ObjectFile, true);
  return std::vector<char>(bytes.begin(), bytes.end());
}

std::string emitText(mlir::ModuleOp module, const Target &target, EmitStage stage) {
  if (stage == EmitStage::loops) {
    std::string text;
    llvm::raw_string_ostream out(text);
    module.print(out);
    return text;
  }
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  emit(module, target, out, llvm::CodeGenFileType::AssemblyFile, stage == EmitStage::assembly);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace lathe
