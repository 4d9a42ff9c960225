#include "passes/Passes.h"

#include "passes/Pipeline.h"

namespace lathe {

namespace {

using Module = mlir::ModuleOp;
using Options = const PipelineOptions &;

const GraphPass passes[] = {
    {"absorb-shuffle", "shuffles of channels in the weights of convolutions",
     [](Module m, Options) { absorbShuffle(m); }},
    {"assign-layout", "row-major or blocked channels for every value",
     [](Module m, Options o) {
       PipelineReport report;
       assignLayout(m, o, report);
     }},
    {"bind-extents", "extents that the run decides as symbols", [](Module m, Options) { bindExtents(m); }},
    {"channel-shuffle", "reshape, transpose, reshape over channels as one gather",
     [](Module m, Options) { channelShuffle(m); }},
    {"conv-transpose", "transposed convolutions as ordinary ones", [](Module m, Options) { convTranspose(m); }},
    {"dead-code", "remove what no result depends on", [](Module m, Options) { deadCode(m); }},
    {"fold-batch-norm", "batch norms into weights, or as multiply and add",
     [](Module m, Options o) { foldBatchNorm(m, o.level == 0, o.exactMath); }},
    {"fold-constants", "evaluate operators on constants", [](Module m, Options) { foldConstants(m); }},
    {"fold-empty", "values without elements as constants", [](Module m, Options) { foldEmpty(m); }},
    {"fold-pad", "pads into the conv or pool behind", [](Module m, Options) { foldPad(m); }},
    {"fold-scale", "scales and offsets a channel into the weights before",
     [](Module m, Options o) { foldScale(m, o.exactMath); }},
    {"fold-unpacked", "evaluate operators on constants but the weights that kernels read as small integers",
     [](Module m, Options) { foldUnpacked(m); }},
    {"infer-shapes", "refine types, fold known shape arithmetic", [](Module m, Options) { inferShapes(m); }},
    {"merge-convolutions", "convolutions that read one value as one, whatever it costs",
     [](Module m, Options o) {
       PipelineReport report;
       PipelineOptions always = o;
       always.mergeMargin = -1;
       mergeConvolutions(m, always, report);
     }},
    {"multiply-by-reciprocal", "divisions of quantised values as products where all bytes agree",
     [](Module m, Options) { multiplyByReciprocal(m); }},
    {"narrow-movement", "concatenations and splits of very many parts as trees",
     [](Module m, Options) { narrowMovement(m); }},
    {"open-convolution", "convolutions of open extents as matrix products",
     [](Module m, Options) { openConvolutions(m); }},
    {"recognize-attention", "product, softmax, product as one attention",
     [](Module m, Options) { recognizeAttention(m); }},
    {"recognize-activation", "gelu, hard_swish and mish from their formulas",
     [](Module m, Options) { recognizeActivation(m); }},
    {"recognize-group-norm", "instance_norm between reshapes as group_norm",
     [](Module m, Options) { recognizeGroupNorm(m); }},
    {"recognize-layer-norm", "layer, RMS and instance norms from their formulas",
     [](Module m, Options) { recognizeLayerNorm(m); }},
    {"recognize-lp-normalize", "division by a norm as lp_normalize",
     [](Module m, Options) { recognizeLpNormalize(m); }},
    {"recognize-quantized", "integer products", [](Module m, Options) { recognizeQuantized(m); }},
    {"recognize-softmax", "softmax and log_softmax from their formulas",
     [](Module m, Options) { recognizeSoftmax(m); }},
    {"settle-bodies", "constants and extents into the bodies of nn.if and nn.loop",
     [](Module m, Options) { settleBodies(m); }},
    {"share-storage", "concatenations, slices and splits of contiguous parts without copies",
     [](Module m, Options) { shareStorage(m); }},
    {"simplify", "remove and merge operators", [](Module m, Options) { simplify(m); }},
    {"sink-reshape", "reshapes of matrix products behind what is element-wise",
     [](Module m, Options) { sinkReshape(m); }},
    {"lift-transpose", "transposes to channels first in front of pads and constants",
     [](Module m, Options) { liftTranspose(m); }},
    {"sink-transpose", "transposes of images behind what reads them", [](Module m, Options) { sinkTranspose(m); }},
    {"split-recurrence", "the input's share of recurrent gates as one matrix product",
     [](Module m, Options) { splitRecurrence(m); }},
    {"static-operands", "constant operands become attributes", [](Module m, Options) { staticOperands(m); }},
    {"widen-half", "float16 values that may leave their range as float32", [](Module m, Options) { widenHalf(m); }},
    {"widen-integer", "products of 8-bit integers without a kernel as products of 32-bit ones",
     [](Module m, Options) { widenInteger(m); }},
    {"optimize-graph", "the whole pipeline at graph level", [](Module m, Options o) { optimizeGraph(m, o); }},
    {"form-kernels", "outline kernels", [](Module m, Options o) { formKernels(m, o); }},
};

} // namespace

std::span<const GraphPass> graphPasses() { return passes; }

} // namespace lathe
