// Finds the weights of a layer in a file, in the order in which Keras lists them: trained weights first.
//
// Keras 1 and 2, and Keras 3 in the old form (source: keras/src/legacy/saving/legacy_h5_format.py): a group for each
// layer of the outermost model, whose attribute weight_names lists its datasets, "conv2d/kernel:0". The first folders
// of these names tell the layers of an inner model apart.
// Keras 3 (keras/src/saving/saving_lib.py): groups that follow the attributes of the Python objects,
// "layers/conv2d_1/vars/0". A layer in a list is named after its class and its index among the layers of this class.
#pragma once

#include "import/Records.h"
#include "import/keras/Config.h"
#include "import/keras/Hdf5.h"

namespace lathe::keras {

class Weights {
public:
  /// Where the file stores the weights of a layer, or of a model's layers.
  struct Place {
    std::string path; // in the form of Keras 3: path of the layer's group, or of the group of the list of layers
    std::vector<std::string> names; // in the old form: paths of the weights' datasets
    bool inside = false;            // in the old form: true if `names` belong to all layers of an inner model
  };

  /// Finds out which form the file has. Throws Error if its weights are in neither form.
  explicit Weights(std::shared_ptr<const Hdf5File> file);

  Place model() const;
  /// The place of layer number `index` of a model.
  Place layer(const Place &place, const ModelConfig &model, size_t index) const;
  /// The place of the layers of a model that is called as the layer at `place`.
  Place within(const Place &place) const;
  /// The place of the layer inside the wrapper at `place`.
  Place wrapped(const Place &place) const;
  /// Paths of the datasets with the weights of a layer.
  std::vector<std::string> of(const Place &place, const LayerConfig &layer) const;
  /// A dataset of the file as a tensor of the model. Throws Error if there is no such dataset.
  source::TensorRecord tensor(const std::string &path) const;

private:
  std::shared_ptr<const Hdf5File> file;
  bool byObjects = false; // true: the file has the form of Keras 3
  std::string root;       // path of the group of the layers

  std::string firstGroup(const std::vector<std::string> &paths) const;
  void addVariables(const std::string &path, std::vector<std::string> &found) const;
  void addLayer(const std::string &path, const LayerConfig &layer, std::vector<std::string> &found, int depth) const;
};

/// The group name that Keras makes from a class name: "conv2d_transpose" from "Conv2DTranspose".
std::string snakeCase(const std::string &className);

} // namespace lathe::keras
