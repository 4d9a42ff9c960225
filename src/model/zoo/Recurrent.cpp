// A labeller of sequences: two LSTM layers and a dense layer for every step, batch first as PyTorch exports
// batch_first=True.
#include "zoo/Architectures.h"

namespace lathe::zoo {

Signal twoLayerLstm(Network &n) {
  const int64_t features = 256, hidden = 256, labels = 64;
  int64_t steps = n.sequence(128);
  Signal x = n.transpose(n.input({steps, features}), {1, 0, 2}, "to_steps");
  for (const char *name : {"lstm1", "lstm2"})
    x = n.reshape(n.lstm(x, hidden, name), {steps, -1, hidden},
                  std::string(name) + ".squeeze"); // the axis of directions
  return n.linear(n.transpose(x, {1, 0, 2}, "to_batch"), labels, "labels");
}

} // namespace lathe::zoo
