// The options of the quantize step: their table and their parsed form.
//
// Globs match a tensor's name in the input checkpoint ("model.layers.0.mlp.up_proj.weight" if that
// was a Hugging Face folder) or its GGUF name; after "out:" only the latter. A tensor-type that is
// not the name of a tensor and matches none as a glob is a regular expression that is searched for
// in GGUF names, as in llama-quantize: "ffn_down=q8_0", "blk\.(0|1)\.ffn_.*=q6_k". Rules are in the
// order of the command line, and the last match counts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/glob.h"
#include "core/base/regex.h"
#include "core/model/checkpoint.h"
#include "core/model/imatrix.h"
#include "core/model/metadata.h"
#include "core/model/transform.h"
#include "transforms/llama_quantize/mixture.h"

namespace ckpt {

extern const OptionRule kQuantizeOptions[10];

// One "tensor-type=GLOB=TYPE", or one "keep=GLOB" (then `type` is empty).
struct TypeRule {
  std::string text;  // as typed, for messages
  std::string glob;
  bool sees_output_name = false;
  std::optional<Dtype> type = {};
  std::optional<Regex> regex = {};  // instead of the glob, for names in the output
};

// Rules, with a search for those that match a tensor.
class TypeRules {
 public:
  TypeRules() = default;
  explicit TypeRules(std::vector<TypeRule> rules);

  // Turns a type's glob that matches none of `tensors` into a regular expression if it is one.
  void take_regexes(const std::vector<Tensor>& tensors);

  size_t size() const { return rules_.size(); }
  const TypeRule& operator[](size_t i) const { return rules_[i]; }
  // The indices of matching rules, ascending.
  std::vector<uint32_t> matching(const Tensor& tensor) const;

 private:
  std::vector<TypeRule> rules_;
  GlobList globs_;  // of all rules
};

struct QuantizeOptions {
  const Mixture* mixture = nullptr;
  TypeRules rules;
  MixtureOptions mixture_options;  // has_imatrix is left false
  bool allow_requantize = false;
  bool searches = false;  // search for the best blocks, if the type has a search
  std::string moments;    // file for error feedback; empty: none
};

// The codec that encodes `dtype` for a GGUF file; nullptr if there is none.
const Codec* find_target_codec(Codecs codecs, Dtype dtype);

// Fails: kUsage if a type is not a target of quantization, naming the targets.
Result<QuantizeOptions> read_quantize_options(const OptionValues& options, Codecs codecs);

// Changes GGUF metadata as llama-quantize does when it quantizes.
//
//   all other keys of the input,     | general.quantization_version | general.file_type
//   in order, without split.*        | quantize.imatrix.file .dataset .entries_count .chunks_count
//
// The keys on the right move to the end, so the order of keys changes if the input was quantized
// before. general.alignment is kept and determines the layout of the file. llama-quantize also
// keeps it but always aligns to 32, so its result does not load if the key has another value.
// Source: llama.cpp src/llama-quant.cpp, tools/quantize/quantize.cpp; gguf_set_kv in
// ggml/src/gguf.cpp.

// `imatrix` may be null.
void update_quantized_metadata(Metadata& metadata, FileType file_type, const Imatrix* imatrix);

}  // namespace ckpt
