// Where programs treat a class of models otherwise than most, for the checks and steps that ask.
// A family's file lists its traits; a new one is an enumerator here.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "models/row_lists.h"

namespace ckpt {

enum class ModelTrait : uint8_t {
  // Which activations servers take; checks/config/config_words.cc lists them.
  kOnlySilu,               // the feed-forward part always uses silu, whatever config.json says
  kActivationSilu,         // takes silu alone
  kActivationRelu2,        // takes relu2 alone
  kActivationGelu,         // takes the two forms of gelu in hidden_activation
  kActivationGeluTanh,     // takes gelu_pytorch_tanh alone
  kActivationAny,          // looks up any activation
  kTwoActivations,         // needs gelu_pytorch_tanh in hidden_act and in hidden_activation
  kSiluExperts,            // experts use silu; dense layers alone read the activation
  kVisionActivationExact,  // the tower looks up its activation as it is written
  kVisionActivationGated,  // the tower takes activations with a gate
  kVisionActivationAny,    // the tower looks up its activation, whatever its case
  kProjectorActivation,    // the projector looks up projector_hidden_act

  // How classes read the fields of rotary positions.
  kMayRotateNothing,            // rotates only if config.json says so
  kAsksNothingOfRope,           // 4.57 does not check a rotary scaling that is empty
  kNeedsRopeType,               // rope_scaling needs rope_type, whose older name `type` is not read
  kThetaOutside,                // 4.57 reads rope_theta outside rope_parameters
  kThetaInside,                 // 4.57 reads rope_theta within rope_parameters
  kOtherTheta,                  // the base has another name than rope_theta
  kListsRopeTheta,              // rope_theta may be a list with a base for each layer
  kOwnRopeScaling,              // 4.57 defines rope_scaling, which replaces rope_parameters
  kRopeOfTwoFields,             // rope_scaling is a type and a factor, and nothing else
  kRopeOfThreeFields,           // rope_scaling is a type and two lists of factors
  kRopeOfKinds,                 // rope_parameters are absent, or have a part for each kind of layer
  kAlwaysYarn,                  // any rotary scaling is read as yarn
  kYarnWithoutLength,           // yarn needs no original length in 4.57
  kYarnOfAnyType,               // the numbers of yarn are read whatever the type is
  kComputesMscales,             // rope_scaling has short_mscale and long_mscale
  kTakesMrope,                  // the older type may be mrope
  kIgnoresPartialRotaryFactor,  // the class has another name for partial_rotary_factor

  // How classes read other fields of config.json.
  kTextClass,     // a text model's class, which knows no text_config
  kTravelsAlone,  // the text part of a wrapper that is also saved without it
  kFlatWrapper,   // a wrapper whose class also reads a flat file
  kLooksUpParts,  // the class of each part is looked up by its model_type
  // layer_types are compared with the class's default if num_hidden_layers is absent
  kCountsLayersByDefault,
  kDeltaClass,    // the class of Gated DeltaNet, which checks its numbers and kinds of layers
  kExpertsAlone,  // no layer is dense, and numbers of dense layers are not checked
  kStrictTower,   // the tower's activation and numbers are checked, too
  kFullAttentionInterval,  // loaders need this field, and do not derive it from layer_types
  kDeepstackList,  // servers that lack this list of the tower make three mergers of random numbers
  kListsMlpTypes,  // mlp_layer_types tells which layers are sparse
  kListsRotatingLayers,      // no_rope_layers tells which layers rotate
  kListsDraftsToo,           // layer_types counts layers for multi-token prediction
  kSlidesInAllOrNone,        // vLLM uses windows in all layers or in none
  kSharesCache,              // the last layers share the keys and values of earlier ones
  kSharesNoKeyHeads,         // num_key_value_heads has to be num_attention_heads
  kAlwaysBiasesQkv,          // q, k and v have biases, whatever attention_bias says
  kIgnoresParallelResidual,  // the class cannot compute use_parallel_residual
  kNoHeadDim,                // the class reads no head_dim
  kGroupsByMethod,           // transformers reads n_group only if topk_method is not greedy
  kMambaHeadsFillWidth,      // heads of Mamba together have mamba_expand times the width
  kTiesOutside,              // the wrapper ties the head to the embedding if no field tells

  // How files name and store the tensors of a family.
  kStackedExperts,      // the class reads experts as stacks
  kStackedAlone,        // files have experts as stacks alone
  kExchangedExperts,    // ModelOpt also exports stacks with exchanged axes, [expert, in, out]
  kKeepsStacks,         // ModelOpt exports stacked experts as they are, each stack a module
  kExpertsUnderMlp,     // block_sparse_moe is called mlp in memory
  kKeepsTypes,          // in a GGUF, floats keep their type and FP8 becomes Q8_0, for any outtype
  kExpertsAreModules,   // NVIDIA's scripts give quantizers to experts, not to their layers
  kMlpBesideAttention,  // attention and MLP read the same norm
  kNormsFeedLinears,    // norm_readers.cc knows which linear layers read which norm
  kFoldsNormsAsPlain,   // norms multiply by 1 + w, which ModelOpt's AWQ treats as w
  kFloatRouter,         // servers never read a quantized router
  kNestedText,          // vLLM renames the parts of the wrapper
  kBiasesInVllm,        // biases that vLLM's class has and that of transformers has not
  kTakesWrapperNames,   // the step vl-wrap gives the text model the names of its wrapper
  kLatentsOfQueries,    // kv_b_proj has a part for each head of queries
  kKeepsMxfp4,          // a folder made from MXFP4 states it in quantization_config
  // in a GGUF, tensors tell whether keys are values, and whether there are experts
  kPerLayerInputs,
  kWidthOfUp,             // in a GGUF, the width of ffn_up tells intermediate_size
  kNoauxRouter,           // in a GGUF, biases of the router tell topk_method
  kMambaBesideAttention,  // each layer has a state in addition to its attention
  kTorchtitan,            // torchtitan trains the class
  kTorchtitanPairs,       // torchtitan trains it, with pairs of rotated values side by side

  // How programs choose and build the tokenizer of a family.
  kSlowTokenizerByType,  // 4.57 knows only a slow class for the model type
  kTokenizerByType,      // transformers 5 chooses the class by the model type
  kSplitsMarks,          // its pattern splits marks, which Qwen2's does not
  kRankedVocabulary,  // the vocabulary was a list of ranks: a text that equals a token becomes it
};

class TraitSet {
 public:
  constexpr TraitSet() = default;
  constexpr TraitSet(std::initializer_list<ModelTrait> traits) {
    for (const ModelTrait trait : traits) word_of(trait) |= bit_of(trait);
  }
  constexpr bool has(ModelTrait trait) const {
    return (words_[static_cast<size_t>(trait) / 64] & bit_of(trait)) != 0;
  }
  constexpr void add(const TraitSet& others) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
  }

 private:
  static constexpr uint64_t bit_of(ModelTrait trait) {
    return uint64_t{1} << static_cast<size_t>(trait) % 64;
  }
  constexpr uint64_t& word_of(ModelTrait trait) { return words_[static_cast<size_t>(trait) / 64]; }

  std::array<uint64_t, static_cast<size_t>(ModelTrait::kRankedVocabulary) / 64 + 1> words_ = {};
};

// A part of a module's name, and what vLLM calls it. A "*" in both is the number of the layer.
struct RenamedPart {
  std::string_view from, to;
};
// `name` with vLLM's words for the part; nullopt if it does not have the part.
std::optional<std::string> rename_part(std::string_view name, const RenamedPart& part);
// A field of config.json that is true if a layer of the GGUF has the tensor.
struct ToldField {
  std::string_view field, tensor;
};

struct Traits {
  TraitSet set = {};
  std::string_view own_config = {};       // vLLM's classes with this start take only these types
  std::string_view asserted_config = {};  // the same, with other families of such a field
  StaticVector<std::string_view, 2> layer_types = {};  // own words: recurrent layers', the others'
  double rotated_share = 0;  // of a head, in 4.57 where config.json says nothing; 0: all of it
  StaticVector<ToldField, 3> told_fields = {};
  std::string_view head_gate = {};  // the tensor in a GGUF whose rows tell `gating`
  // Parts of names of parameters that only transformers' class has. Servers and llama.cpp ignore
  // the field that enables them.
  StaticVector<std::string_view, 4> only_in_transformers = {};
  StaticVector<RenamedPart, 4> vllm_names = {};
  std::string_view tokenizer_class = {};      // chosen in transformers 5, whatever the folder says
  std::string_view processor_tokenizer = {};  // the one class that the processor takes in 4.57

  constexpr bool has(ModelTrait trait) const { return set.has(trait); }
};

// Traits of the first of a family's model_types, of the others (wrappers), and of both.
struct FamilyTraits {
  Traits text = {}, wrapper = {}, both = {};
  std::string_view bare_types = {};  // model_types without defaults: not transformers' own
  Traits bare = {};
};

// The traits of the text part or the wrapper with this model_type; no traits if no family has it.
const Traits& traits_of(std::string_view model_type);
inline bool has_trait(std::string_view model_type, ModelTrait trait) {
  return traits_of(model_type).has(trait);
}
// The traits of the text part of family_by_prefix(model_type).
const Traits& traits_by_prefix(std::string_view model_type);

}  // namespace ckpt
