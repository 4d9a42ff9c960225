// Hands the operators' scalar lowerings to codegen.
#pragma once

namespace lathe {

/// Makes findScalarLowering (codegen/builder/Scalar.h) know every operator. Call once before kernels are generated; harmless
/// when repeated.
void registerLowerings();

} // namespace lathe
