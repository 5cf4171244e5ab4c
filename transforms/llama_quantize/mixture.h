// Which type each tensor of a GGUF file gets when the file is made "q4_k_m", "q3_k_l" and so on.
//
//   name ──▶ category ─┐
//   model facts ───────┼─▶ rule of the mixture ──▶ type ──▶ fallback for rows that do not fit
//   counters ──────────┘         (mixture_rules.cc)
//
// The answer depends on the order of the calls: some rules count the tensors of a kind that came
// before ("more bits for the first eighth of the ffn_down tensors"). A tensor whose type was given
// by hand is not counted, so naming one shifts the pattern of those after it.
// Source: llama.cpp src/llama-quant.cpp, in words: docs/MIXTURES.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/codec.h"
#include "core/model/dtype.h"
#include "core/model/metadata.h"
#include "core/model/step_options.h"

namespace ckpt {

// llama.cpp's numbers, stored as general.file_type (include/llama.h `enum llama_ftype`).
enum class FileType : uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ8_0 = 7,
  kQ5_0 = 8,
  kQ5_1 = 9,
  kQ2K = 10,
  kQ3KS = 11,
  kQ3KM = 12,
  kQ3KL = 13,
  kQ4KS = 14,
  kQ4KM = 15,
  kQ5KS = 16,
  kQ5KM = 17,
  kQ6K = 18,
  kIq2Xxs = 19,
  kIq2Xs = 20,
  kQ2KS = 21,
  kIq3Xs = 22,
  kIq3Xxs = 23,
  kIq1S = 24,
  kIq4Nl = 25,
  kIq3S = 26,
  kIq3M = 27,
  kIq2S = 28,
  kIq2M = 29,
  kIq4Xs = 30,
  kIq1M = 31,
  kBF16 = 32,
  kTq1_0 = 36,
  kTq2_0 = 37,
  kMxfp4Moe = 38,
  kNvfp4 = 39,  // llama-quantize has no mixture of this number, only its type
};

struct Mixture {
  std::string_view name;  // as on the command line: "q4_k_m"
  FileType file_type;
  Dtype base;  // of tensors without a rule of their own
};

std::span<const Mixture> all_mixtures();
// By name and by index in all_mixtures(); "q3_k", "q4_k" and "q5_k" stand for their "_m", "mxfp4"
// for "mxfp4_moe".
extern const std::array<Choice, 38> kMixtureChoices;

// True for the block types, whose values were rounded to a grid before.
bool is_quantized(Dtype dtype);

// What the rules ask of a model.
struct ModelFacts {
  std::string arch;
  uint64_t layers = 0;  // with the MTP layers
  uint64_t experts = 0;
  uint64_t heads_per_kv = 0;  // query heads that share a key/value head in the first layer
  bool is_70b = false;        // 80 layers of certain architectures, 68 of jais2
};

// Reads them from GGUF metadata. Fails: kCorrupt without an architecture or a number of layers, or
// with more layers than kMaxLayers.
inline constexpr uint64_t kMaxLayers = 100'000;
Result<ModelFacts> model_facts(const Metadata& metadata);

// The number N of "blk.N."; -1 for tensors outside of blocks.
int64_t block_of(std::string_view name);
// Order of tensors in a quantized file: by block, then by the bytes of the name.
bool quantized_order(std::string_view a, std::string_view b);

enum class Category : uint8_t {
  kOutput,
  kTokenEmbedding,
  kQkv,
  kKvB,
  kV,
  kK,
  kQ,
  kAttentionOutput,
  kUp,
  kGate,
  kDown,
  kOther,
};
Category category_of(std::string_view name);
// May it be quantized, or is it copied whatever the mixture? `shape` is outermost first.
bool may_quantize(std::string_view name, const std::vector<uint64_t>& shape);
// Tensors that the mixture must not make with column weights missing.
bool needs_column_weights(std::string_view name, Dtype target, const Mixture& mixture);

struct MixtureOptions {
  std::optional<Dtype> output;  // for output.weight, and token_embd where it is tied
  std::optional<Dtype> token_embedding;
  bool pure = false;          // no rules: every tensor gets the base type
  bool leave_output = false;  // copy output.weight
  bool has_imatrix = false;
};

struct MixtureTensor {
  std::string_view name;
  const std::vector<uint64_t>& shape;  // outermost first
  Dtype type;                          // as it is now
  std::optional<Dtype> given;          // named by hand
};

// Decides one tensor after the other. Not thread-safe.
class MixtureChooser {
 public:
  // `names`: of all tensors of the file, in any order.
  MixtureChooser(const Mixture& mixture, ModelFacts facts, MixtureOptions options,
                 const std::vector<std::string_view>& names);

  // Requires: called in the order of quantized_order. Fails: kCorrupt for an expert tensor without
  // a block number below the number of layers; kUnsupported where no type fits the rows.
  Result<Dtype> choose(const MixtureTensor& tensor);

  // Tensors that got another type because their rows did not fit.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }

 private:
  const Mixture& mixture_;
  ModelFacts facts_;
  MixtureOptions options_;
  bool tied_ = true;      // no output.weight: token_embd serves as output
  uint64_t v_count_ = 0;  // tensors like attn_v in the file
  uint64_t v_seen_ = 0;   // and those that a rule has decided
  uint64_t down_seen_ = 0;
  uint64_t gate_seen_ = 0;
  uint64_t up_seen_ = 0;
  std::vector<std::string> fallbacks_;

  Result<Dtype> by_rule(const MixtureTensor& tensor, Category category);
  // The block number of a tensor of experts; of others how many of its kind came before.
  Result<uint64_t> layer_of(const MixtureTensor& tensor, uint64_t& seen) const;
  Dtype output_type(uint64_t row_values) const;
};

// `target`, or what stands in for it where rows of `row_values` are no whole number of its blocks.
Result<Dtype> fitting_type(Dtype target, uint64_t row_values);

}  // namespace ckpt
