// Sets attributes of operators by name, for the builder of graphs.
#pragma once

#include "stage/GraphBuilder.h"

namespace lathe {

/// Sets the fields of `attrs` that `given` names. Throws Error for a name that the operator does not have, for a name
/// given twice and for a value of a wrong kind: "attribute 'strides' is a text, expected integers".
void setFields(Attrs &attrs, const std::string &mnemonic, const std::vector<BuilderAttribute> &given);

} // namespace lathe
