// Links kernels' objects into one image that needs no loader: sections side by side, relocations resolved, nothing
// imported, nothing writable.
#include "codegen/target/Emit.h"

#include "support/Error.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"

#include <map>

namespace lathe {
namespace {

using namespace llvm::ELF;
using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Shdr = llvm::object::ELF64LE::Shdr;
using Sym = llvm::object::ELF64LE::Sym;

template <class T> T get(llvm::Expected<T> value, size_t index) {
  if (!value)
    fail("internal: kernel object {} is malformed: {}", index, llvm::toString(value.takeError()));
  return *value;
}

/// Patches one AArch64 instruction's immediate field; reports fields that do not fit.
void patchAArch64(char *place, unsigned type, uint64_t address, int64_t value, size_t object) {
  using namespace llvm::support::endian;
  uint32_t word = read32le(place);
  auto fits = [&](bool ok) { require(ok, "kernel object {}: relocation {} does not reach its target", object, type); };
  auto low12 = [&](unsigned shift) {
    fits((value & ((1 << shift) - 1)) == 0);
    write32le(place, word | ((value & 0xfff) >> shift) << 10);
  };
  switch (type) {
  case R_AARCH64_PREL32:
    fits(llvm::isInt<32>(value - int64_t(address)));
    return write32le(place, value - address);
  case R_AARCH64_PREL64:
    return write64le(place, value - address);
  case R_AARCH64_ADR_PREL_PG_HI21: {
    int64_t pages = (value >> 12) - int64_t(address >> 12);
    fits(llvm::isInt<21>(pages));
    return write32le(place, word | (pages & 3) << 29 | ((pages >> 2) & 0x7ffff) << 5);
  }
  case R_AARCH64_ADR_PREL_LO21: {
    int64_t distance = value - int64_t(address);
    fits(llvm::isInt<21>(distance));
    return write32le(place, word | (distance & 3) << 29 | ((distance >> 2) & 0x7ffff) << 5);
  }
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    return low12(0);
  case R_AARCH64_LDST16_ABS_LO12_NC:
    return low12(1);
  case R_AARCH64_LDST32_ABS_LO12_NC:
    return low12(2);
  case R_AARCH64_LDST64_ABS_LO12_NC:
    return low12(3);
  case R_AARCH64_LDST128_ABS_LO12_NC:
    return low12(4);
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26: {
    int64_t distance = value - int64_t(address);
    fits(llvm::isInt<28>(distance) && (distance & 3) == 0);
    return write32le(place, word | ((distance >> 2) & 0x3ffffff));
  }
  case R_AARCH64_CONDBR19: {
    int64_t distance = value - int64_t(address);
    fits(llvm::isInt<21>(distance) && (distance & 3) == 0);
    return write32le(place, word | ((distance >> 2) & 0x7ffff) << 5);
  }
  default:
    fail("kernel object {}: relocation type {} cannot be resolved inside an image", object, type);
  }
}

void patchX86(char *place, unsigned type, uint64_t address, int64_t value, size_t object) {
  using namespace llvm::support::endian;
  int64_t distance = value - int64_t(address);
  switch (type) {
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    require(llvm::isInt<32>(distance), "kernel object {}: relocation {} does not reach its target", object, type);
    return write32le(place, distance);
  case R_X86_64_PC64:
    return write64le(place, distance);
  default:
    fail("kernel object {}: relocation type {} cannot be resolved inside an image", object, type);
  }
}

class Linker {
public:
  explicit Linker(const Target &target) : x86(llvm::Triple(target.triple).getArch() == llvm::Triple::x86_64) {}

  void add(const std::vector<char> &object, size_t index);
  CodeImage image;

private:
  bool x86;

  void place(const ElfFile &elf, llvm::ArrayRef<Shdr> sections, size_t index);
  void relocate(const ElfFile &elf, llvm::ArrayRef<Shdr> sections, const Shdr &table, size_t index);
  std::map<size_t, uint64_t> offsets; // section of the current object -> place in the image
};

void Linker::place(const ElfFile &elf, llvm::ArrayRef<Shdr> sections, size_t index) {
  offsets.clear();
  for (size_t i = 0; i < sections.size(); ++i) {
    const Shdr &section = sections[i];
    std::string name = get(elf.getSectionName(section), index).str();
    // Kernels do not unwind, so unwind tables are not needed.
    if (!(section.sh_flags & SHF_ALLOC) || section.sh_size == 0 || name == ".eh_frame")
      continue;
    require(!(section.sh_flags & (SHF_WRITE | SHF_TLS)) && section.sh_type == SHT_PROGBITS,
            "kernel object {}: section {} is writable; kernels keep no state", index, name);
    uint64_t alignment = std::max<uint64_t>(section.sh_addralign, section.sh_flags & SHF_EXECINSTR ? 64 : 1);
    offsets[i] = llvm::alignTo(image.bytes.size(), alignment);
    image.bytes.resize(offsets[i]);
    llvm::ArrayRef<uint8_t> contents = get(elf.getSectionContents(section), index);
    image.bytes.insert(image.bytes.end(), contents.begin(), contents.end());
  }
}

void Linker::relocate(const ElfFile &elf, llvm::ArrayRef<Shdr> sections, const Shdr &table, size_t index) {
  auto target = offsets.find(table.sh_info);
  if (target == offsets.end())
    return;
  const Shdr *symbols = get(elf.getSection(table.sh_link), index);
  llvm::StringRef names = get(elf.getStringTableForSymtab(*symbols), index);
  for (const auto &entry : get(elf.relas(table), index)) {
    const Sym *symbol = get(elf.getRelocationSymbol(entry, symbols), index);
    require(symbol != nullptr, "kernel object {}: a relocation names no symbol", index);
    auto home = offsets.find(symbol->st_shndx);
    if (home == offsets.end())
      fail("kernel object {}: imports '{}'; kernels call no library", index, get(symbol->getName(names), index).str());
    uint64_t address = target->second + entry.r_offset;
    require(entry.r_offset + 4 <= sections[table.sh_info].sh_size, "kernel object {}: relocation outside its section",
            index);
    int64_t value = home->second + symbol->st_value + entry.r_addend;
    (x86 ? patchX86 : patchAArch64)(image.bytes.data() + address, entry.getType(false), address, value, index);
  }
}

void Linker::add(const std::vector<char> &object, size_t index) {
  ElfFile elf = get(ElfFile::create(llvm::StringRef(object.data(), object.size())), index);
  llvm::ArrayRef<Shdr> sections = get(elf.sections(), index);
  // Page-relative AArch64 relocations hold wherever the image is mapped on a page boundary.
  place(elf, sections, index);
  std::optional<uint64_t> entry;
  for (const Shdr &section : sections) {
    if (section.sh_type == SHT_RELA)
      relocate(elf, sections, section, index);
    require(section.sh_type != SHT_REL, "kernel object {}: relocations without addends are not understood", index);
    if (section.sh_type != SHT_SYMTAB)
      continue;
    llvm::StringRef names = get(elf.getStringTableForSymtab(section), index);
    for (const Sym &symbol : get(elf.symbols(&section), index)) {
      std::string name = get(symbol.getName(names), index).str();
      if (symbol.st_shndx == SHN_UNDEF && !name.empty())
        fail("kernel object {}: imports '{}'; kernels call no library", index, name);
      if (name == "kernel" && offsets.count(symbol.st_shndx))
        entry = offsets[symbol.st_shndx] + symbol.st_value;
    }
  }
  require(entry.has_value(), "kernel object {}: has no symbol 'kernel'", index);
  image.entries.push_back(*entry);
}

} // namespace

CodeImage linkImage(const std::vector<std::vector<char>> &objects, const Target &target) {
  Linker linker(target);
  for (size_t i = 0; i < objects.size(); ++i)
    linker.add(objects[i], i);
  return std::move(linker.image);
}

} // namespace lathe
