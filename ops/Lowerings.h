// Registers the operators' scalar lowerings with codegen.
#pragma once

namespace lathe {

/// Makes findScalarLowering (codegen/builder/Scalar.h) know every operator. Call it before kernels
/// are generated; repeated calls have no effect.
void registerLowerings();

} // namespace lathe
