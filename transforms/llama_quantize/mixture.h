// Chooses the type of each tensor of a GGUF file that is made by a mixture.
//
//   name ──▶ category ─┐
//   model facts ───────┼─▶ rule of the mixture ──▶ type ──▶ fallback for incomplete blocks
//   counters ──────────┘         (mixture_rules.cc)
//
// The result depends on the order of calls, because some rules count earlier tensors of a category
// ("more bits for the first eighth of the ffn_down tensors"). Tensors with a type given by the user
// are not counted, so giving one a type shifts the pattern of the later ones.
// Source: llama.cpp src/llama-quant.cpp, described in docs/MIXTURES.md.
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

// One row per mixture: its enumerator, llama.cpp's number, stored as general.file_type
// (include/llama.h `enum llama_ftype`; llama-quantize knows NVFP4 only as a type), its name on the
// command line, the type of tensors without a special rule, a shorter alias, and its rank among the
// mixtures that a size target compares, roughly the largest first (0: not compared).
// clang-format off
#define CKPT_MIXTURES(ROW) \
  ROW(kF32, 0, "f32", kF32, "", 0) \
  ROW(kF16, 1, "f16", kF16, "", 0) \
  ROW(kBF16, 32, "bf16", kBF16, "", 0) \
  ROW(kQ8_0, 7, "q8_0", kQ8_0, "", 1) \
  ROW(kQ4_0, 2, "q4_0", kQ4_0, "", 0) \
  ROW(kQ4_1, 3, "q4_1", kQ4_1, "", 0) \
  ROW(kQ5_0, 8, "q5_0", kQ5_0, "", 0) \
  ROW(kQ5_1, 9, "q5_1", kQ5_1, "", 0) \
  ROW(kIq4Nl, 25, "iq4_nl", kIq4Nl, "", 7) \
  ROW(kIq4Xs, 30, "iq4_xs", kIq4Xs, "", 8) \
  ROW(kQ2K, 10, "q2_k", kQ2K, "", 16) \
  ROW(kQ2KS, 21, "q2_k_s", kQ2K, "", 0) \
  ROW(kQ3KS, 11, "q3_k_s", kQ3K, "", 13) \
  ROW(kQ3KM, 12, "q3_k_m", kQ3K, "q3_k", 10) \
  ROW(kQ3KL, 13, "q3_k_l", kQ3K, "", 9) \
  ROW(kQ4KS, 14, "q4_k_s", kQ4K, "", 6) \
  ROW(kQ4KM, 15, "q4_k_m", kQ4K, "q4_k", 5) \
  ROW(kQ5KS, 16, "q5_k_s", kQ5K, "", 4) \
  ROW(kQ5KM, 17, "q5_k_m", kQ5K, "q5_k", 3) \
  ROW(kQ6K, 18, "q6_k", kQ6K, "", 2) \
  ROW(kIq3M, 27, "iq3_m", kIq3S, "", 11) \
  ROW(kIq3S, 26, "iq3_s", kIq3S, "", 12) \
  ROW(kIq3Xs, 22, "iq3_xs", kIq3S, "", 14) \
  ROW(kIq3Xxs, 23, "iq3_xxs", kIq3Xxs, "", 15) \
  ROW(kIq2M, 29, "iq2_m", kIq2S, "", 17) \
  ROW(kIq2S, 28, "iq2_s", kIq2Xs, "", 18) \
  ROW(kIq2Xs, 20, "iq2_xs", kIq2Xs, "", 19) \
  ROW(kIq2Xxs, 19, "iq2_xxs", kIq2Xxs, "", 20) \
  ROW(kIq1M, 31, "iq1_m", kIq1M, "", 21) \
  ROW(kIq1S, 24, "iq1_s", kIq1S, "", 22) \
  ROW(kTq2_0, 37, "tq2_0", kTq2_0, "", 0) \
  ROW(kTq1_0, 36, "tq1_0", kTq1_0, "", 0) \
  ROW(kMxfp4Moe, 38, "mxfp4_moe", kMxfp4, "mxfp4", 0) \
  ROW(kNvfp4, 39, "nvfp4-ggml", kNvfp4, "", 0)
// clang-format on

enum class FileType : uint32_t {
#define CKPT_ENUMERATOR(name, number, ...) name = number,
  CKPT_MIXTURES(CKPT_ENUMERATOR)
#undef CKPT_ENUMERATOR
};

struct Mixture {
  std::string_view name;  // as on the command line
  FileType file_type;
  Dtype base;  // for tensors without a special rule
  std::string_view alias;
  uint32_t target_place;
};

#define CKPT_COUNTED(...) +1
inline constexpr size_t kMixtureCount = 0 CKPT_MIXTURES(CKPT_COUNTED);
#undef CKPT_COUNTED
#define CKPT_COUNTED(name, number, text, base, alias, place) +(sizeof(alias) > 1 ? 1 : 0)
inline constexpr size_t kMixtureAliasCount = 0 CKPT_MIXTURES(CKPT_COUNTED);
#undef CKPT_COUNTED
std::span<const Mixture> all_mixtures();
// All names, then all aliases; the meaning is the index in all_mixtures().
extern const std::array<Choice, kMixtureCount + kMixtureAliasCount> kMixtureChoices;

// The facts of a model that the rules need.
struct ModelFacts {
  std::string arch;
  uint64_t layers = 0;  // including MTP layers
  uint64_t experts = 0;
  uint64_t heads_per_kv = 0;  // query heads per key/value head in the first layer
  bool is_70b = false;        // 80 layers of certain architectures, 68 of jais2
  std::string_view copied = {}, at_least_q8_0 = {};  // FamilyMixtures of the architecture
};

// Reads them from GGUF metadata. Fails: kCorrupt if the architecture or the number of layers is
// missing, or there are more layers than kMaxLayers.
inline constexpr uint64_t kMaxLayers = 100'000;
Result<ModelFacts> model_facts(const Metadata& metadata);

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
// Whether a mixture may change the tensor's type; others are copied. `shape` is outermost first.
bool may_quantize(std::string_view name, const std::vector<uint64_t>& shape);
// Whether the mixture must not encode the tensor without column weights.
bool needs_column_weights(std::string_view name, Dtype target, const Mixture& mixture);

struct MixtureOptions {
  std::optional<Dtype> output;  // for output.weight, or a tied token_embd
  std::optional<Dtype> token_embedding;
  bool pure = false;          // no rules: every tensor gets the base type
  bool leave_output = false;  // copy output.weight
  bool has_imatrix = false;
};

struct MixtureTensor {
  std::string_view name;
  const std::vector<uint64_t>& shape;  // outermost first
  Dtype type;                          // present type
  std::optional<Dtype> given;          // given by the user
};

// Decides the type of one tensor per call. Not thread-safe.
class MixtureChooser {
 public:
  // `names`: of all tensors in the file, in any order.
  MixtureChooser(const Mixture& mixture, ModelFacts facts, MixtureOptions options,
                 const std::vector<std::string_view>& names);

  // Requires calls in the order of quantized_order. Fails: kCorrupt if an expert tensor lacks a
  // block number below the number of layers; kUnsupported if no type fits the rows.
  Result<Dtype> choose(const MixtureTensor& tensor);

  // may_quantize(), and the architecture does not have the tensor copied.
  bool may_change(std::string_view name, const std::vector<uint64_t>& shape) const;

  // The type from options for the output or the embedding, which overrides `given`.
  std::optional<Dtype> by_option(const MixtureTensor& tensor) const;

  // Tensors that got another type because their rows are not complete blocks.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }

 private:
  const Mixture& mixture_;
  ModelFacts facts_;
  MixtureOptions options_;
  bool tied_ = true;      // no output.weight: token_embd serves as output
  uint64_t v_count_ = 0;  // tensors like attn_v in the file
  uint64_t v_seen_ = 0;   // of these, decided by a rule
  uint64_t down_seen_ = 0;
  uint64_t gate_seen_ = 0;
  uint64_t up_seen_ = 0;
  std::vector<std::string> fallbacks_;

  Result<Dtype> by_rule(const MixtureTensor& tensor, Category category);
  // The block number of an expert tensor; for others the number of earlier ones of their category.
  Result<uint64_t> layer_of(const MixtureTensor& tensor, uint64_t& seen) const;
  Dtype output_type(uint64_t row_values) const;
};

// `target`, or its replacement if rows of `row_values` are not complete blocks.
Result<Dtype> fitting_type(Dtype target, uint64_t row_values);

// The input of the following rules, which depend on a tensor's position in the model (llama.cpp
// src/llama-quant.cpp, llama_tensor_get_type_impl).
struct RuleContext {
  const Mixture& mixture;
  const ModelFacts& facts;
  bool has_imatrix;
  bool is_falcon() const { return facts.arch == "falcon"; }
  bool has_8_experts() const { return facts.experts == 8; }
};

// True for the first and last eighth of `count` items and every third item between.
bool gets_more_bits(uint64_t index, uint64_t count);

// The type of tensor `index` among `count` like attn_v (also attn_qkv and attn_kv_b).
Dtype value_type(const RuleContext& context, uint64_t index, uint64_t count);
Dtype key_type(const RuleContext& context);
// The type of ffn_down in layer `index`.
Dtype down_type(const RuleContext& context, uint64_t index);
Dtype attention_output_type(const RuleContext& context);
// The type of attn_q.
Dtype query_type(const RuleContext& context);
// The type of token_embd.weight if there is also an output.weight.
Dtype embedding_type(const RuleContext& context);
// The type of output.weight, except for falcon and base Q8_0.
Dtype narrow_output_type(FileType file_type);
// The type of ffn_gate and ffn_up in layer `index`; only some mixtures have a rule for them.
bool has_feed_forward_rule(FileType file_type);
Dtype feed_forward_type(const RuleContext& context, uint64_t index);

// The mixtures of IQ1 and IQ2 have separate rules; `index` counts ffn_down.
bool is_two_bit_mixture(FileType file_type);
Dtype two_bit_type(const RuleContext& context, Category category, uint64_t index);

// mxfp4_moe: MXFP4 for a stack of matrices, Q8_0 for one matrix. `shape` is outermost first.
Dtype mxfp4_moe_type(const std::vector<uint64_t>& shape);

}  // namespace ckpt
