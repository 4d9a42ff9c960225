// Converts problems of benchdnn (`%prb%` in its output) to problems of Lathe.
#pragma once

#include "store/Records.h"

namespace lathe::lab {

struct BenchdnnProblem {
  store::Problem problem; // a problem of Lathe if possible; otherwise benchdnn's driver as operator and its text
  std::string layout;     // the tags of layouts that are not the default, such as "stag=axb wtag=any"
  std::string type;       // element type of the first operand; if unknown, the text of --dt; "f32" if --dt is missing
};

/// Parses a problem of benchdnn, a line of options and a descriptor: "--mode=P --conv --dir=FWD_I
/// mb1ic64ih56oc64kh3ph1". Options about measuring are ignored. The problem becomes one of Lathe if Lathe can express
/// every other option: --dt, --dir of forward convolutions and inner products, --alg, --axis, and the post-operators
/// sum, relu and tanh.
BenchdnnProblem benchdnnProblem(const std::string &text);

} // namespace lathe::lab
