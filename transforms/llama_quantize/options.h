// The request to the quantize step: its option table, and the options read into numbers.
//
// Globs see a tensor under its name in the input checkpoint ("model.layers.0.mlp.up_proj.weight"
// when that was a Hugging Face folder) and under its GGUF name; with "out:" in front under the
// latter alone. A tensor-type that does not name a tensor and matches none as a glob is a regular
// expression that is found anywhere in a GGUF name, as llama-quantize takes it: "ffn_down=q8_0",
// "blk\.(0|1)\.ffn_.*=q6_k". Rules are in the order they were given, and the last one that matches
// a tensor counts.
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
  std::string text;  // as given, for messages
  std::string glob;
  bool sees_output_name = false;
  std::optional<Dtype> type = {};
  std::optional<Regex> regex = {};  // in place of the glob, on names in the output
};

// Rules, asked which of them are about a tensor.
class TypeRules {
 public:
  TypeRules() = default;
  explicit TypeRules(std::vector<TypeRule> rules);

  // Makes a regular expression of each type's glob that matches none of `tensors`, where it is one.
  void take_regexes(const std::vector<Tensor>& tensors);

  size_t size() const { return rules_.size(); }
  const TypeRule& operator[](size_t i) const { return rules_[i]; }
  // The numbers of those that match, ascending.
  std::vector<uint32_t> matching(const Tensor& tensor) const;

 private:
  std::vector<TypeRule> rules_;
  GlobList globs_;  // of all
};

struct QuantizeOptions {
  const Mixture* mixture = nullptr;
  TypeRules rules;
  MixtureOptions mixture_options;  // has_imatrix is left false
  bool allow_requantize = false;
  bool searches = false;  // for the best blocks, where there is a search
  std::string moments;    // a file for error feedback; empty: none
};

// The codec that stores `dtype` in a GGUF file and can be encoded; nullptr where there is none.
const Codec* find_target_codec(Codecs codecs, Dtype dtype);

// Fails: kUsage for a type that nothing is quantized to, naming those that are.
Result<QuantizeOptions> read_quantize_options(const OptionValues& options, Codecs codecs);

// Changes of GGUF metadata by quantizing, as llama-quantize writes them.
//
//   all keys of the input, in order  | general.quantization_version | general.file_type
//   without these and split.*        | quantize.imatrix.file .dataset .entries_count .chunks_count
//
// The keys on the right are taken out of their old place and appended, so an input that was
// quantized before changes its order. general.alignment is kept, and honored when the file is laid
// out: llama-quantize keeps it too, but aligns to 32, so that its result does not load where the
// key says otherwise.
// Source: llama.cpp src/llama-quant.cpp, tools/quantize/quantize.cpp; gguf_set_kv in
// ggml/src/gguf.cpp.

// `imatrix` may be null.
void update_quantized_metadata(Metadata& metadata, FileType file_type, const Imatrix* imatrix);

}  // namespace ckpt
