// The order in which a kernel computes the images of a batch.
#pragma once

namespace lathe {

/// The order in which a kernel computes the images of a batch. `call`: all images in one call of the kernel. `images`:
/// each thread takes one image after the other, as in an image loop of the runtime.
enum class BatchOrder { call, images };

} // namespace lathe
