// Keys of a GGUF that llama.cpp v0.5.0 reads, with the type that it takes for each: another type is
// an error wherever a key is read. Sources: src/llama-arch.cpp (LLM_KV_NAMES),
// src/llama-model-loader.cpp (get_key, get_arr, get_key_or_arr), src/llama-vocab.cpp (load).
//
// "name:kind"; the kinds are
//   u, f, b, t     a number, a float, a flag, a text
//   U              a number or one a block; T the same but for blocks of multi-token prediction
//   P              a number, or a number or flag for each block
//   A              a list of flags or numbers; S four sections of rope; L a list of the tokenizer
#include <fmt/format.h>

#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kKeysOfFile =
    " general.architecture:t general.name:t general.file_type:u tokenizer.ggml.model:t"
    " tokenizer.ggml.pre:t tokenizer.ggml.token_type_count:u tokenizer.ggml.add_space_prefix:b"
    " tokenizer.ggml.remove_extra_whitespaces:b tokenizer.ggml.bos_token_id:u"
    " tokenizer.ggml.eos_token_id:u tokenizer.ggml.eot_token_id:u tokenizer.ggml.eom_token_id:u"
    " tokenizer.ggml.unknown_token_id:u tokenizer.ggml.seperator_token_id:u"
    " tokenizer.ggml.padding_token_id:u tokenizer.ggml.mask_token_id:u"
    " tokenizer.ggml.fim_pre_token_id:u tokenizer.ggml.fim_suf_token_id:u"
    " tokenizer.ggml.fim_mid_token_id:u tokenizer.ggml.fim_pad_token_id:u"
    " tokenizer.ggml.fim_rep_token_id:u tokenizer.ggml.fim_sep_token_id:u"
    " tokenizer.ggml.prefix_token_id:u tokenizer.ggml.suffix_token_id:u"
    " tokenizer.ggml.middle_token_id:u tokenizer.ggml.add_bos_token:b"
    " tokenizer.ggml.add_eos_token:b tokenizer.ggml.add_sep_token:b"
    " tokenizer.ggml.normalizer.lowercase:b tokenizer.ggml.normalizer.strip_accents:b"
    " tokenizer.ggml.tokens:L tokenizer.ggml.merges:L tokenizer.ggml.scores:L"
    " tokenizer.ggml.token_type:L tokenizer.ggml.suppress_tokens:L ";

// Behind the architecture's name and a dot.
constexpr std::string_view kKeysOfArchitecture =
    " attention.causal:b attention.clamp_kqv:f attention.head_count:U attention.head_count_kv:U"
    " attention.indexer.head_count:u attention.indexer.key_length:u attention.indexer.top_k:u"
    " attention.indexer.types:T attention.key_length:u attention.key_length_mla:u"
    " attention.key_length_swa:u attention.kv_lora_rank:u attention.layer_norm_epsilon:f"
    " attention.layer_norm_rms_epsilon:f attention.q_lora_rank:u attention.recurrent_layers:U"
    " attention.scale:f attention.shared_kv_layers:u attention.sliding_window:u"
    " attention.sliding_window_pattern:P attention.temperature_length:u"
    " attention.temperature_scale:f attention.value_length:u attention.value_length_mla:u"
    " attention.value_length_swa:u attn_logit_softcapping:f block_count:u context_length:u"
    " embedding_length:u embedding_length_out:u embedding_length_per_layer_input:u"
    " embedding_scale:f expert_count:u expert_feed_forward_length:U expert_gating_func:u"
    " expert_group_count:u expert_group_used_count:u expert_shared_count:u"
    " expert_shared_feed_forward_length:u expert_used_count:U expert_weights_norm:b"
    " expert_weights_scale:f feed_forward_length:U final_logit_softcapping:f"
    " full_attention_interval:u interleave_moe_layer_step:u leading_dense_block_count:u"
    " logit_scale:f moe_latent_size:u n_deepstack_layers:u nextn_predict_layers:u pooling_type:u"
    " residual_scale:f rope.dimension_count:u rope.dimension_count_swa:u"
    " rope.dimension_sections:S rope.freq_base:f rope.freq_base_swa:f rope.scaling.alpha:f"
    " rope.scaling.attn_factor:f rope.scaling.factor:f rope.scaling.finetuned:b"
    " rope.scaling.original_context_length:u rope.scaling.type:t rope.scaling.yarn_beta_fast:f"
    " rope.scaling.yarn_beta_slow:f rope.scaling.yarn_log_multiplier:f shortconv.l_cache:u"
    " ssm.conv_kernel:u ssm.group_count:u ssm.inner_size:u ssm.state_size:u ssm.time_step_rank:u"
    " use_parallel_residual:b vocab_size:u ";

}  // namespace

std::string_view gguf_keys_of_file() { return kKeysOfFile; }

std::optional<GgufKey> find_gguf_key(std::string_view architecture, std::string_view key) {
  const bool is_own = !architecture.empty() && key.size() > architecture.size() &&
                      key.starts_with(architecture) && key[architecture.size()] == '.';
  const std::string_view list = is_own ? kKeysOfArchitecture : kKeysOfFile;
  if (is_own) key.remove_prefix(architecture.size() + 1);
  if (key.empty() || key.find_first_of(" :") != key.npos) return std::nullopt;
  const std::string word = fmt::format(" {}:", key);
  const size_t at = list.find(word);
  if (at == list.npos) return std::nullopt;
  const char kind = list[at + word.size()];
  switch (kind) {
    case 'f':
      return GgufKey{kind, MetaType::kF32};
    case 'b':
      return GgufKey{kind, MetaType::kBool};
    case 't':
      return GgufKey{kind, MetaType::kText};
    case 'S':
      return GgufKey{kind, MetaType::kI32};
    case 'L':
    case 'A':
      return GgufKey{kind, MetaType::kArray};
    default:
      return GgufKey{kind, MetaType::kU32};
  }
}

}  // namespace ckpt
