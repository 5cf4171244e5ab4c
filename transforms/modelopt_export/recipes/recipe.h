// Recipes of ModelOpt: YAML that says which quantizers a model gets.
//
//   imports: {nvfp4: configs/numerics/nvfp4}             what $import below stands for
//   metadata: {recipe_type: ptq}
//   quantize:
//     algorithm: max
//     quant_cfg:                                         in order, the last one that matches counts
//       - {quantizer_name: '*', enable: false}
//       - {quantizer_name: '*mlp*weight_quantizer', cfg: {$import: nvfp4}}
//
// Read is what an export here can be, each key with its meaning; all else is refused by name.
// Source: NVIDIA Model-Optimizer 0.47 modelopt/recipe/loader.py, modelopt/torch/opt/
// config_loader.py, modelopt/torch/quantization/config.py.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/glob.h"
#include "core/json/json_read.h"
#include "core/model/codec.h"
#include "core/model/transform.h"

namespace ckpt {

// The type that a quantizer gives to values.
struct QuantizerForm {
  Scheme numbers = Scheme::kNvfp4;     // or kFp8Tensor, kFp8Block
  std::optional<float> constant_amax;  // instead of the largest magnitude of its values
  bool is_cast = false;                // use_constant_amax: nothing is measured nor stored
  bool operator==(const QuantizerForm&) const = default;
};

struct QuantizerRule {
  Glob glob;                          // of quantizers' names
  std::optional<QuantizerForm> form;  // none: turned on or off as it is
  bool is_on = false;
  bool is_of_tables = false;  // parent_class nn.Embedding: of those alone
};

struct QuantRecipe {
  std::string name;  // as given: "FILE.yaml" or the name of one that ModelOpt ships
  std::vector<QuantizerRule> rules;
  std::vector<std::string> files;  // its own first; empty for one that ships
};

std::vector<std::string> shipped_recipes();  // names of those that ModelOpt ships

// `name` is a path, or a name of the library. Fails: kUsage: no such file, or imports that do not
// resolve; kUnsupported: no YAML, or what has no export here, naming its key.
Result<QuantRecipe> read_quant_recipe(const std::string& name, const Context& context);

}  // namespace ckpt
