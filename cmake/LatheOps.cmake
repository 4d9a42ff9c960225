# Everything generated from the operator records. Files are only written when they change: a description rebuilds nothing.
file(GLOB_RECURSE LATHE_TD CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/model/ops/*.td ${CMAKE_SOURCE_DIR}/src/model/ir/*.td)
set(LATHE_GEN ${CMAKE_BINARY_DIR}/ops)
set(TD_INCLUDES -I ${CMAKE_SOURCE_DIR}/src/model -I /usr/lib/llvm-19/include)
file(MAKE_DIRECTORY ${LATHE_GEN} ${CMAKE_BINARY_DIR}/ir)

add_custom_command(
  OUTPUT ${LATHE_GEN}/Attrs.inc ${LATHE_GEN}/AttrsMethods.inc ${LATHE_GEN}/Registry.inc ${LATHE_GEN}/References.inc ${LATHE_GEN}/Lowerings.inc
  COMMAND ${LLVM_TBLGEN} --dump-json ${TD_INCLUDES} ${CMAKE_SOURCE_DIR}/src/model/ops/Ops.td -o ${LATHE_GEN}/records.json
  COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/dev/gen_ops.py ${LATHE_GEN}/records.json ${LATHE_GEN}
  DEPENDS ${LATHE_TD} ${CMAKE_SOURCE_DIR}/dev/gen_ops.py
  COMMENT "operator records -> attribute structs, registry, references, lowerings" VERBATIM)
add_custom_target(lathe_records DEPENDS ${LATHE_GEN}/Attrs.inc)

# The builder's typed functions for Python and C++ (include/lathe/builder.hpp, python/lathe/builder.py).
set(LATHE_BUILDER_PYTHON ${CMAKE_BINARY_DIR}/python/lathe_operators.py)
set(LATHE_BUILDER_CPP ${CMAKE_BINARY_DIR}/include/lathe/operators.hpp)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/python ${CMAKE_BINARY_DIR}/include/lathe)
add_custom_command(
  OUTPUT ${LATHE_BUILDER_PYTHON} ${LATHE_BUILDER_CPP}
  COMMAND ${PYTHON3} -B ${CMAKE_SOURCE_DIR}/dev/gen_builder.py ${LATHE_GEN}/records.json ${LATHE_BUILDER_PYTHON} ${LATHE_BUILDER_CPP}
  DEPENDS ${LATHE_GEN}/Attrs.inc ${CMAKE_SOURCE_DIR}/dev/gen_builder.py ${CMAKE_SOURCE_DIR}/dev/gen_ops.py
  COMMENT "operator records -> functions of the builder" VERBATIM)
add_custom_target(lathe_builder_operators ALL DEPENDS ${LATHE_BUILDER_PYTHON} ${LATHE_BUILDER_CPP})

set(LATHE_OP_SHARDS 4)
function(lathe_tblgen OUTPUT TD)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/ir/${OUTPUT}
    COMMAND ${MLIR_TBLGEN} --write-if-changed ${ARGN} ${TD_INCLUDES} ${CMAKE_SOURCE_DIR}/src/model/${TD} -o ${CMAKE_BINARY_DIR}/ir/${OUTPUT}
    DEPENDS ${LATHE_TD} VERBATIM)
endfunction()
lathe_tblgen(NnDialect.h.inc ir/Nn.td -gen-dialect-decls -dialect=nn)
lathe_tblgen(NnDialect.cpp.inc ir/Nn.td -gen-dialect-defs -dialect=nn)
lathe_tblgen(NnTypes.h.inc ir/Nn.td -gen-typedef-decls -typedefs-dialect=nn)
lathe_tblgen(NnTypes.cpp.inc ir/Nn.td -gen-typedef-defs -typedefs-dialect=nn)
lathe_tblgen(NnAttrs.h.inc ir/Nn.td -gen-attrdef-decls -attrdefs-dialect=nn)
lathe_tblgen(NnAttrs.cpp.inc ir/Nn.td -gen-attrdef-defs -attrdefs-dialect=nn)
lathe_tblgen(NnOps.h.inc ops/Ops.td -gen-op-decls -dialect=nn)
lathe_tblgen(NnOps.cpp.inc ops/Ops.td -gen-op-defs -dialect=nn -op-shard-count=${LATHE_OP_SHARDS})
foreach(h NnDialect.h.inc NnTypes.h.inc NnAttrs.h.inc NnOps.h.inc NnDialect.cpp.inc NnTypes.cpp.inc NnAttrs.cpp.inc NnOps.cpp.inc)
  list(APPEND NN_INCS ${CMAKE_BINARY_DIR}/ir/${h})
endforeach()
add_custom_target(lathe_ir_headers DEPENDS ${NN_INCS})
