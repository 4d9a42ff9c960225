/* Runs a package on inputs of ones and prints the beginning of each output:  run model.lathe [threads] */
#include <lathe/runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(lathe_status status) {
  if (status == LATHE_OK)
    return;
  fprintf(stderr, "%s\n", lathe_last_error());
  exit(2);
}

int main(int argc, char **argv) {
  lathe_context_options options = {sizeof options, argc > 2 ? atoi(argv[2]) : 1, 0};
  lathe_model *model;
  lathe_context *context;
  check(lathe_model_load(argc > 1 ? argv[1] : "model.lathe", NULL, &model));
  check(lathe_context_create(model, &options, &context));
  for (size_t i = 0; i < lathe_model_input_count(model); ++i) {
    lathe_port port = {sizeof port};
    check(lathe_model_input(model, i, &port));
    int64_t *dims = malloc((port.rank + 1) * sizeof *dims), elements = 1;
    for (size_t axis = 0; axis < port.rank; ++axis)
      elements *= dims[axis] = port.dims[axis] < 0 ? 1 : port.dims[axis]; /* a free extent: 1 */
    size_t bytes = ((size_t)elements * lathe_element_bits(port.element_type) + 7) / 8;
    void *data = calloc(bytes + 1, 1);
    for (int64_t k = 0; port.element_type == LATHE_F32 && k < elements; ++k)
      ((float *)data)[k] = 1;
    lathe_tensor tensor = {sizeof tensor, port.element_type, LATHE_HOST, port.rank, dims, data, bytes};
    check(lathe_context_set_input(context, i, &tensor)); /* in place: freed when the process ends */
  }
  check(lathe_context_run(context));
  for (size_t i = 0; i < lathe_model_output_count(model); ++i) {
    lathe_port port = {sizeof port};
    lathe_tensor tensor = {sizeof tensor};
    check(lathe_model_output(model, i, &port));
    check(lathe_context_output(context, i, &tensor));
    printf("%s:", port.name);
    for (size_t k = 0; tensor.element_type == LATHE_F32 && k < tensor.bytes / 4 && k < 8; ++k)
      printf(" %g", ((float *)tensor.data)[k]);
    printf(" (%zu bytes)\n", tensor.bytes);
  }
  lathe_context_free(context);
  lathe_model_free(model);
  return 0;
}
