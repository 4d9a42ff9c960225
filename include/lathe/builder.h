/* C interface for building graphs, part of liblathe_compiler. lathe/builder.hpp (C++) and python/lathe_builder.py wrap
   it with one typed function for each operator. docs/staging.md is the introduction.

   Values are numbers; LATHE_NO_VALUE is an absent optional operand. Texts are UTF-8. One thread uses a graph
   at a time. Errors name the node: "net: node 3 'conv1' (conv): conv_c2: ...". A failed call does not
   change what the graph computes. */
#ifndef LATHE_BUILDER_H
#define LATHE_BUILDER_H

#include "lathe/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lathe_graph lathe_graph;
typedef int32_t lathe_value;
#define LATHE_NO_VALUE (-1)

/* Makes an empty graph; messages and the package call it `name`. */
LATHE_API lathe_status lathe_graph_create(const char *name, lathe_graph **graph);
/* Frees the graph and its bodies. Null is ignored. */
LATHE_API void lathe_graph_free(lathe_graph *graph);

/* Adds an input. `type`: an element type ("f32"), or a type of textual IR for a value that is not a tensor
   ("!nn.sequence<tensor<?x5xf32>>"). `dims`: `rank` extents as texts, each a number, a formula over symbols ("N",
   "N*2"), or "?" if it is unknown. `quantization` (the real numbers that integers represent, "0.5 * (q - 3)") may be
   null. */
LATHE_API lathe_status lathe_graph_input(lathe_graph *graph, const char *name, const char *type,
                                         const char *const *dims, size_t rank, const char *quantization,
                                         lathe_value *value);

/* Opens the safetensors file that lathe_graph_weight reads from now on. */
LATHE_API lathe_status lathe_graph_open_weights(lathe_graph *graph, const char *path);
/* A weight of that file. `type` may be null: then the file gives type and extents. A type that the format lacks (i4,
   ...) is stored as bytes, and needs `type` and `dims`. */
LATHE_API lathe_status lathe_graph_weight(lathe_graph *graph, const char *name, const char *type, const int64_t *dims,
                                          size_t rank, lathe_value *value);
/* A constant with a copy of `data`: row-major, native byte order, booleans one byte each. */
LATHE_API lathe_status lathe_graph_constant(lathe_graph *graph, const char *name, const char *type, const int64_t *dims,
                                            size_t rank, const void *data, size_t bytes, lathe_value *value);

/* An attribute of an operator. Exactly one pointer is not null: to `count` integers (also for booleans, 0 or 1),
   `count` reals, or a text of `count` bytes (also for element types, by name). A single number has count 1. */
typedef struct lathe_attribute {
  const char *name;
  const int64_t *integers;
  const double *reals;
  const char *text;
  size_t count;
} lathe_attribute;

/* Optional facts about a node beside its operator. A null note has none. */
typedef struct lathe_node_note {
  size_t struct_size;       /* sizeof(lathe_node_note) */
  const char *name;         /* of the node; null or "": the operator and the number of the node, "conv_12".
                               Operators of one name are one node, which -O0 may compile at once */
  const char *const *types; /* of the results as in textual IR, if they differ from the types that the shape function
                               gives: "tensor<?x64xf32>" */
  size_t type_count;        /* 0, or the number of results */
  /* Symbols of extents that only this operator knows (nn.extents of textual IR), one for each axis of every result; ""
     for extents that the shape function gives. */
  const char *const *extents;
  size_t extent_count;
} lathe_node_note;

/* Adds the operator `op` (docs/generated/operators.md: "conv"). Operands have the order of the operator's record;
   absent operands at the end may be left out. `results` has room for `capacity` values; `result_count` receives their
   number. An operator with more results than fit is an error. */
LATHE_API lathe_status lathe_graph_operator(lathe_graph *graph, const char *op, const lathe_value *operands,
                                            size_t operand_count, const lathe_attribute *attributes,
                                            size_t attribute_count, const lathe_node_note *note, lathe_value *results,
                                            size_t capacity, size_t *result_count);

/* A body for lathe_graph_if and lathe_graph_loop, which is built like a graph: its inputs are its arguments, its
   outputs its results. It belongs to `graph`, is freed with it, and uses only its own values; weights are from the same
   file. */
LATHE_API lathe_status lathe_graph_body(lathe_graph *graph, const char *name, lathe_graph **body);
/* nn.if: runs one of two bodies, which take the captured values and return the same number of values. */
LATHE_API lathe_status lathe_graph_if(lathe_graph *graph, lathe_value condition, const lathe_value *captured,
                                      size_t captured_count, lathe_graph *then_body, lathe_graph *else_body,
                                      const lathe_node_note *note, lathe_value *results, size_t capacity,
                                      size_t *result_count);
/* nn.loop: the first `carried` values are passed from iteration to iteration, the others to each. The body takes the
   number of the iteration (i64), the condition (bool) and all values, and returns the condition, the carried values,
   and values that are collected along a new axis 0. */
LATHE_API lathe_status lathe_graph_loop(lathe_graph *graph, lathe_value trip_count, lathe_value condition,
                                        const lathe_value *values, size_t value_count, size_t carried,
                                        lathe_graph *body, const lathe_node_note *note, lathe_value *results,
                                        size_t capacity, size_t *result_count);

/* Declares an output with a unique name. `quantization` may be null. */
LATHE_API lathe_status lathe_graph_output(lathe_graph *graph, const char *name, lathe_value value,
                                          const char *quantization);

/* The type of a value as in textual IR, "tensor<?x64x56x56xf32>", and its extents, "Nx64x56x56": valid until the next
   call with this graph. */
LATHE_API lathe_status lathe_graph_value_type(lathe_graph *graph, lathe_value value, const char **type,
                                              const char **extents);

/* Writes the graph as textual IR, which every verb of `lathe` reads: the text at `path`, and its weights at
   `path`.safetensors. */
LATHE_API lathe_status lathe_graph_write(lathe_graph *graph, const char *path);
/* Compiles the graph to a package file. `options` may be null; they must not have shapes, a rounding or a
   signature. Afterwards the graph can only be freed, and its bodies cannot be used. */
LATHE_API lathe_status lathe_graph_compile(lathe_graph *graph, const char *package_path,
                                           const lathe_compile_options *options);

#ifdef __cplusplus
}
#endif
#endif
