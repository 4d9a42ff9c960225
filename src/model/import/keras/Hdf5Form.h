// The output format of lathe-read-hdf5. Numbers are little-endian.
//
//   file      := mark record* end
//   record    := tag 'g' path                        a group
//              | tag 'a' path text(name) array       an attribute of the object at `path`
//              | tag 'd' path array                  a dataset
//   end       := tag 'e' u64(number of records)      missing in a truncated file
//   path      := text                                "/model_weights/conv2d"
//   text      := u32(bytes) bytes
//   array     := text(type) u32(rank) u64(extent)* data
//   data      := text* of "string", otherwise the elements, row-major
//
// `type` is a name of support/ElementType.h, or "" for a type without one: the array then has no data.
#pragma once

#include <cstdint>
#include <string_view>

namespace lathe::keras::hdf5 {

inline constexpr std::string_view mark = "LATHEH51";
inline constexpr const char *program = "lathe-read-hdf5";
/// The deepest nesting of groups in an HDF5 file that is accepted.
inline constexpr int mostNested = 32;
/// Limit on the number of records that lathe-read-hdf5 writes: groups, attributes and datasets.
inline constexpr uint64_t mostRecords = uint64_t(1) << 22;

} // namespace lathe::keras::hdf5
