// `lathe quantize`: converts a float model to an int8 model in ONNX's QDQ form.
#include "cli/CompilerVerbs.h"
#include "cli/flags/QuantizeFlags.h"
#include "cli/print/QuantizePrint.h"
#include "jobs/Terminal.h"

#include <iostream>

namespace lathe::cli {
int quantizeVerb(const Arguments &arguments) {
  QuantizeFlags flags;
  Options options(
      "quantize",
      "Quantise a model to int8 after training, and write it in ONNX's QDQ form, which other runtimes read, too.\n"
      "Activations get ranges from calibration inputs; weights get one scale an output channel. The outputs are\n"
      "compared with the float model's on the calibration inputs.",
      "  lathe quantize resnet50.onnx --calibration images/ --fit crop --mean 0.485,0.456,0.406 --std "
      "0.229,0.224,0.225 -o q.onnx\n"
      "  lathe quantize model.onnx --calibration inputs.npz --calibrate-method entropy --max-drop 1 -o q.onnx\n"
      "  lathe quantize zoo:mobilenet_v2 --only-faster -o q.onnx\n"
      "  lathe quantize zoo:gpt2_small_past --weights int4 -o q.onnx\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.job.command = arguments;
  requireNoTerminal(flags.job.output, "an ONNX file");
  Quantized quantized = quantizeModel(flags.job);
  if (options.printsText())
    std::cout << quantizedText(quantized, flags.job);
  for (const std::string &warning : quantized.report.warnings)
    say(fmt::format("warning: {}", warning)); // which has names from the model
  options.writeJson(quantizedJson(quantized, flags.job));
  return success;
}

} // namespace lathe::cli
