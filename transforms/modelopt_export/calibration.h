// The largest magnitudes that somebody measured: of weights and of the activations they meet.
//
//   QAT checkpoint       P.weight_quantizer._amax [] | [blocks, 1], ._global_amax
//                        P.input_quantizer._amax []
//                        X.gate_up_proj_weight_quantizers.E._amax   (X: "….mlp.experts")
//                        X.gate_up_proj_input_quantizer._amax
//                        A.{k,v}_bmm_quantizer._amax
//   earlier export       P.input_scale F32 [] = amax / 2688 or / 448
//   JSON                 {"P": amax, ...}
//
// An export's scale is kept as it is where the divisor stays the same; multiplied and divided again
// it would not come back.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "transforms/facts/base_weights.h"
#include "transforms/modelopt_export/options.h"

namespace ckpt {

struct WeightAmax {
  std::optional<float> amax;             // of the whole tensor
  std::shared_ptr<const Tensor> blocks;  // one a block of 16 values; null: of the weights' own
};
struct InputAmax {
  float value = 0;
  float divisor = 1;  // value = amax / divisor
  float amax() const { return value * divisor; }
  bool operator==(const InputAmax&) const = default;
};

struct Calibration {
  bool is_qat = false;  // the checkpoint had quantizers: they say which layers are quantized
  bool is_four_over_six = false;  // maxima of blocks leave room for blocks scaled to 4
  // The maxima of weights and of inputs, by module. Keys of inputs have no "language_model." (see
  // input_key).
  std::map<std::string, WeightAmax, std::less<>> weights;
  std::map<std::string, InputAmax, std::less<>> inputs;
  std::map<std::string, float> kv_scales;  // by tensor: "A.k_proj.k_scale"; keys as of inputs
  std::optional<std::string> kv_algo;
};

// Values of modules by input_key, from one file or checkpoint: two names of one module must have
// the same.
class ModuleValues {
 public:
  // Fails: kCorrupt, naming both.
  template <class Map>
  Status put(const std::string& name, const typename Map::mapped_type& value, Map& into) {
    const std::string key = input_key(name);
    const auto [told, is_new] = names_.try_emplace(key, name);
    if (!is_new && into.at(key) != value) {
      return corrupt("'{}' and '{}' name one module, with different values; expected one",
                     told->second, name);
    }
    into[key] = value;
    return {};
  }

 private:
  std::map<std::string, std::string> names_;  // by key
};

// Takes the quantizer tensors out of `checkpoint`; notes what is not used. Fails: kCorrupt: a
// maximum that cannot be read; kUnsupported: quantizers of a kind that has no export here.
Result<Calibration> take_quantizers(Checkpoint& checkpoint, const ExportOptions& options,
                                    const Context& context);
// The same with modelopt_state.pth. Fails also: kCorrupt: a state that cannot be read; kUsage: the
// state says another format than `options`.
Result<Calibration> take_calibration(Checkpoint& checkpoint, const ExportOptions& options,
                                     const Context& context);
// Advice where maxima of activations are missing or cannot be read.
std::string how_to_get_amax(const ExportOptions& options);
// Adds what --amax-from tells. Fails: kUsage, kIo, kCorrupt.
Status add_amax_from(Calibration& calibration, const ExportOptions& options,
                     const Context& context);

// Maxima stored for a module; of a stack of experts that it was cut from, `half` of its rows
// (0: all, 1: the first, gate; 2: the second, up).
struct FoundWeightAmax {
  const WeightAmax* amax = nullptr;
  int half = 0;
};
FoundWeightAmax find_weight_amax(const Calibration& calibration, std::string_view module);
// nullptr when nothing is known.
const InputAmax* find_input_amax(const Calibration& calibration, std::string_view module);

// A stored maximum. Fails: kCorrupt: more than one value; kIo.
Result<float> read_scalar(const Tensor& tensor);

}  // namespace ckpt
