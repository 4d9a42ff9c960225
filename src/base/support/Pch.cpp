// Holds the precompiled header of the rooms without MLIR.
