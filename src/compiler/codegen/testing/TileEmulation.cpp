#include "codegen/testing/TileEmulation.h"

#include "support/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <functional>

namespace lathe {
namespace {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
using mlir::Value;

constexpr int64_t tileRows = 16, lineBytes = 64, registers = 8, lanes = 16;

/// The registers of one function.
class Tiles {
public:
  explicit Tiles(mlir::Block &entry) : b(&entry, entry.begin()), loc(b.getUnknownLoc()) {
    mlir::Type pointer = LLVM::LLVMPointerType::get(b.getContext());
    memory = b.create<LLVM::AllocaOp>(loc, pointer, b.getI8Type(), integer(registers * tileRows * lineBytes), 64);
  }

  void replace(LLVM::CallIntrinsicOp op) {
    llvm::StringRef name = op.getIntrin();
    b.setInsertionPoint(op);
    mlir::OperandRange operands = op.getArgs();
    auto tile = [&](unsigned i) { return at(memory, integer(numberOf(operands[i]) * tileRows * lineBytes)); };
    if (name == "llvm.x86.tilezero") {
      forRows([&](Value row) { store(zeros(), line(tile(0), row)); });
    } else if (name == "llvm.x86.tileloadd64") {
      forRows([&](Value row) { store(load(at(operands[1], multiplied(row, operands[2]))), line(tile(0), row)); });
    } else if (name == "llvm.x86.tilestored64") {
      forRows([&](Value row) { store(load(line(tile(0), row)), at(operands[1], multiplied(row, operands[2]))); });
    } else if (name == "llvm.x86.tdpbusd") {
      product(tile(0), tile(1), tile(2), [&](Value sum, Value a, Value columns) { return addBytes(sum, a, columns); });
    } else if (name == "llvm.x86.tdpbf16ps") {
      product(tile(0), tile(1), tile(2), [&](Value sum, Value a, Value columns) { return addHalves(sum, a, columns); });
    } else {
      require(name == "llvm.x86.ldtilecfg" || name == "llvm.x86.tilerelease", "no emulation of {}", name.str());
    }
    op.erase();
  }

private:
  mlir::OpBuilder b;
  mlir::Location loc;
  Value memory;

  static int64_t numberOf(Value value) {
    auto constant = value.getDefiningOp<LLVM::ConstantOp>();
    require(constant != nullptr, "the number of a tile register is not constant");
    return llvm::cast<mlir::IntegerAttr>(constant.getValue()).getInt();
  }

  Value integer(int64_t value) { return b.create<arith::ConstantOp>(loc, b.getI64IntegerAttr(value)); }
  Value multiplied(Value x, Value y) { return b.create<arith::MulIOp>(loc, x, y); }
  Value at(Value base, Value bytes) {
    return b.create<LLVM::GEPOp>(loc, base.getType(), b.getI8Type(), base, llvm::ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value line(Value tile, Value row) { return at(tile, multiplied(row, integer(lineBytes))); }
  mlir::VectorType units() { return mlir::VectorType::get({lanes}, b.getI32Type()); }
  Value zeros() { return b.create<arith::ConstantOp>(loc, b.getZeroAttr(units())); }
  Value load(Value from) { return b.create<LLVM::LoadOp>(loc, units(), from, 4); }
  void store(Value value, Value to) { b.create<LLVM::StoreOp>(loc, value, to, 4); }
  Value splat(Value value) {
    return b.create<mlir::vector::BroadcastOp>(loc, mlir::VectorType::get({lanes}, value.getType()), value);
  }
  Value splat(int64_t value) {
    return splat(b.create<arith::ConstantOp>(loc, b.getI32IntegerAttr(static_cast<int32_t>(value))));
  }

  void forRows(const std::function<void(Value)> &body) {
    b.create<mlir::scf::ForOp>(loc, integer(0), integer(tileRows), integer(1), mlir::ValueRange(),
                               [&](mlir::OpBuilder &, mlir::Location, Value row, mlir::ValueRange) {
                                 mlir::OpBuilder::InsertionGuard guard(b);
                                 b.setInsertionPointToEnd(row.getParentBlock());
                                 body(row);
                                 b.create<mlir::scf::YieldOp>(loc);
                               });
  }

  /// For each row m of `sums` and unit k: the row plus the products of unit (m, k) of `a` and row k of `columns`.
  void product(Value sums, Value a, Value columns, const std::function<Value(Value, Value, Value)> &add) {
    forRows([&](Value m) {
      Value row = line(sums, m);
      forRows([&](Value unit) {
        Value from = at(line(a, m), multiplied(unit, integer(4)));
        Value left = splat(b.create<LLVM::LoadOp>(loc, b.getI32Type(), from, 4).getResult());
        store(add(load(row), left, load(line(columns, unit))), row);
      });
    });
  }

  Value addBytes(Value sum, Value a, Value columns) {
    for (int64_t byte = 0; byte < 4; ++byte) {
      Value natural = b.create<arith::AndIOp>(loc, b.create<arith::ShRUIOp>(loc, a, splat(8 * byte)), splat(255));
      Value high = b.create<arith::ShLIOp>(loc, columns, splat(24 - 8 * byte));
      Value sign = b.create<arith::ShRSIOp>(loc, high, splat(24));
      sum = b.create<arith::AddIOp>(loc, sum, b.create<arith::MulIOp>(loc, natural, sign));
    }
    return sum;
  }

  Value addHalves(Value sum, Value a, Value columns) {
    auto floats = [&](Value bits) -> Value {
      return b.create<arith::BitcastOp>(loc, mlir::VectorType::get({lanes}, b.getF32Type()), bits);
    };
    auto low = [&](Value pair) { return floats(b.create<arith::ShLIOp>(loc, pair, splat(16))); };
    auto high = [&](Value pair) { return floats(b.create<arith::AndIOp>(loc, pair, splat(-65536))); };
    Value first = b.create<mlir::math::FmaOp>(loc, low(a), low(columns), floats(sum));
    Value both = b.create<mlir::math::FmaOp>(loc, high(a), high(columns), first);
    return b.create<arith::BitcastOp>(loc, units(), both);
  }
};

} // namespace

void emulateTiles(mlir::ModuleOp module) {
  module.walk([](LLVM::LLVMFuncOp function) {
    llvm::SmallVector<LLVM::CallIntrinsicOp> found;
    function.walk([&](LLVM::CallIntrinsicOp op) {
      llvm::StringRef name = op.getIntrin();
      if (name.starts_with("llvm.x86.tile") || name.starts_with("llvm.x86.tdp") || name == "llvm.x86.ldtilecfg")
        found.push_back(op);
    });
    if (found.empty())
      return;
    Tiles tiles(function.getBody().front());
    for (LLVM::CallIntrinsicOp op : found)
      tiles.replace(op);
  });
}

} // namespace lathe
