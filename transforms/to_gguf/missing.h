// Tensors that a model has by its family's table and that a folder lacks, and layers that it has
// beyond those of config.json. llama.cpp does not load most files without them, and computes
// another model with the rest: without a head it takes the embeddings.
#pragma once

#include <vector>

#include "transforms/to_gguf/model.h"
#include "transforms/to_gguf/select.h"

namespace ckpt {

// Fails: kCorrupt, naming the first tensor that is missing and their number. These may be missing:
// rows that are optional, the head of a model that ties it, biases that only a field asks for,
// layers for multi-token prediction, and all of a family whose table is partial.
Status check_missing(const std::vector<NamedTensor>& tensors, const Model& model);

// Fails: kCorrupt, naming a tensor of a layer beyond num_hidden_layers that is not for multi-token
// prediction.
Status check_layers(const std::vector<NamedTensor>& tensors, const Model& model);

// The parameters that the model has by config.json and by the form of `tensors`. Fails: as
// expected_parameters().
Result<std::vector<Parameter>> table_parameters(const std::vector<NamedTensor>& tensors,
                                                const Model& model);

// The name of a tensor in the table of its family.
std::string table_name(const NamedTensor& named);

}  // namespace ckpt
