// Keys of a GGUF that llama.cpp v0.5.0 reads, with the type that it takes for each: another type is
// an error wherever a key is read. Sources: src/llama-arch.cpp (LLM_KV_NAMES),
// src/llama-model-loader.cpp (get_key, get_arr, get_key_or_arr), src/llama-vocab.cpp (load).
//
// "name:kind"; the kinds are
//   u, f, b, t     a number, a float, a flag, a text
//   U              a number or one a block; T the same but for blocks of multi-token prediction;
//                  F as T, with floats; G floats, one a block
//   P              a number, or a number or flag for each block
//   A              a list of flags or numbers; N of numbers of 64 bits; S four sections of rope;
//                  L a list of the tokenizer; C a list of texts
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/base/words.h"
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

// Keys that follow the architecture's name and a dot.
constexpr std::string_view kKeysOfArchitecture =
    " activation.situ_beta:f activation.situ_linear_beta:f attention.causal:b"
    " attention.clamp_kqv:f attention.compress_ratios:U attention.compress_rope_freq_base:f"
    " attention.head_count:U attention.head_count_kv:U attention.indexer.head_count:u"
    " attention.indexer.key_length:u attention.indexer.kpool:u"
    " attention.indexer.kpool_select_tail:b attention.indexer.top_k:u attention.indexer.types:T"
    " attention.key_length:u attention.key_length_mla:u attention.key_length_swa:u"
    " attention.kv_lora_rank:u attention.layer_norm_epsilon:f attention.layer_norm_rms_epsilon:f"
    " attention.output_group_count:u attention.output_lora_rank:u attention.q_lora_rank:u"
    " attention.recurrent_layers:U attention.relative_buckets_count:u attention.scale:f"
    " attention.shared_kv_layers:u attention.sliding_window:u attention.sliding_window_pattern:P"
    " attention.temperature_length:u attention.temperature_scale:f attention.value_length:u"
    " attention.value_length_mla:u attention.value_length_swa:u attn_logit_softcapping:f"
    " attn_res.block_size:u block_count:u context_length:u decoder_block_count:u"
    " decoder_start_token_id:u embedding_length:u embedding_length_out:u"
    " embedding_length_per_layer_input:u embedding_scale:f expert_count:u"
    " expert_feed_forward_length:U expert_gating_func:u expert_group_count:u"
    " expert_group_used_count:u expert_latent_length:u expert_shared_count:u"
    " expert_shared_feed_forward_length:u expert_used_count:U expert_weights_norm:b"
    " expert_weights_scale:f feed_forward_length:U final_logit_softcapping:f"
    " full_attention_interval:u hash_layer_count:u hyper_connection.count:u"
    " hyper_connection.epsilon:f hyper_connection.low_rank:u hyper_connection.magnitude:f"
    " hyper_connection.sinkhorn_iterations:u interleave_moe_layer_step:u kda.gate_lower_bound:f"
    " kda.head_dim:u kda.safe_gate:b leading_dense_block_count:u logit_scale:f moe_latent_size:u"
    " n_deepstack_layers:u nextn_predict_layers:u ple.conv_kernel:u ple.eos_token_id:u"
    " ple.head_offsets:N ple.head_vocab_sizes:N ple.heads_per_ngram:u ple.image_token_id:u"
    " ple.layer_multipliers:N ple.layers:A ple.ngram_size:u pooling_type:u residual_scale:f"
    " rope.dimension_count:u rope.dimension_count_swa:u rope.dimension_sections:S rope.freq_base:f"
    " rope.freq_base_swa:f rope.scaling.alpha:f rope.scaling.attn_factor:f rope.scaling.factor:f"
    " rope.scaling.finetuned:b rope.scaling.original_context_length:u rope.scaling.type:t"
    " rope.scaling.yarn_beta_fast:f rope.scaling.yarn_beta_slow:f"
    " rope.scaling.yarn_log_multiplier:f shortconv.l_cache:u ssm.conv_kernel:u ssm.group_count:u"
    " ssm.inner_size:u ssm.state_size:u ssm.time_step_rank:u swiglu_clamp_exp:G"
    " swiglu_clamp_shexp:G use_parallel_residual:b vocab_size:u"
    // of architectures that checks/ has no table of
    " adapters.count:u adapters.lora_rank:u adapters.router_gain:f adapters.token_ids_activate:A"
    " adapters.token_ids_substitute:A attention.decay_lora_rank:u attention.gate_lora_rank:u"
    " attention.group_norm_epsilon:f attention.group_norm_groups:u attention.iclr_lora_rank:u"
    " attention.indexer.block_size:u attention.indexer.local_blocks:u"
    " attention.key_length_mla_swa:u attention.kv_lora_rank_swa:u attention.max_alibi_bias:f"
    " attention.output_scale:f attention.rope_pattern:A attention.value_length_mla_swa:u"
    " attention.value_residual_mix_lora_rank:u attention.value_scale:f block_size:u"
    " classifier.output_labels:C conv_group_size:u conv_kernel_size:u convnext.block_count:u"
    " convnext.embedding_length:u deepstack_mapping:A dense_2_feat_in:u dense_2_feat_out:u"
    " dense_3_feat_in:u dense_3_feat_out:u expert_chunk_feed_forward_length:u expert_group_scale:f"
    " experts_per_group:u features_length:u hidden_activation:t hrm.h_cycles:u hrm.l_cycles:u"
    " hrm.layers_per_stack:u hrm.prefix_lm:b moe_every_n_layers:u norm_before_fc:b"
    " norm_before_residual:b num_loops:u posnet.block_count:u posnet.embedding_length:u"
    " rescale_every_n_layers:u rope.scale_linear:f rope.scaling.yarn_attn_factor:f"
    " rope.scaling.yarn_ext_factor:f router_logit_softcapping:f selector_rank:u selector_top_k:u"
    " skip_loop_final_norm:b ssm.dt_b_c_rms:b swin_norm:b target_hidden_size:u target_layers:A"
    " time_decay_extra_dim:u time_mix_extra_dim:u token_shift_count:u wkv.head_size:u ";

// Written by converters, and read as any type or not at all, but for xielu's, which apertus reads.
// Source: gguf-py/gguf/constants.py and gguf_writer.py; i is a signed number.
constexpr std::string_view kKeysOfWriters =
    " general.type:t general.quantization_version:u general.author:t general.version:t"
    " general.organization:t general.finetune:t general.basename:t general.description:t"
    " general.quantized_by:t general.size_label:t general.license:t general.license.name:t"
    " general.license.link:t general.url:t general.doi:t general.uuid:t general.repo_url:t"
    " general.source.url:t general.source.doi:t general.source.uuid:t general.source.repo_url:t"
    " general.source.huggingface.repository:t general.base_model.count:u general.dataset.count:u"
    " general.tags:C general.languages:C general.sampling.sequence:t general.sampling.top_k:i"
    " general.sampling.top_p:f general.sampling.min_p:f general.sampling.xtc_probability:f"
    " general.sampling.xtc_threshold:f general.sampling.temp:f general.sampling.penalty_last_n:i"
    " general.sampling.penalty_repeat:f general.sampling.mirostat:i"
    " general.sampling.mirostat_tau:f general.sampling.mirostat_eta:f"
    " tokenizer.ggml.cls_token_id:u tokenizer.ggml.precompiled_charsmap:A"
    " tokenizer.huggingface.json:t tokenizer.rwkv.world:t tokenizer.chat_template:t"
    " tokenizer.chat_templates:C adapter.type:t adapter.lora.alpha:f adapter.lora.task_name:t"
    " adapter.lora.prompt_prefix:t adapter.alora.invocation_tokens:A xielu.alpha_n:F"
    " xielu.alpha_p:F xielu.beta:F xielu.eps:F ";

// Values that llama.cpp assumes for keys that a file lacks. A word NAME=VALUE applies to the key
// ARCHITECTURE.NAME of every architecture. A word ARCHITECTURE/NAME=VALUE applies to one
// architecture and takes precedence. VALUE is one of:
//
//   10000   this number                      #KEY    the length of the list KEY
//   KEY     the value of another key         %NAME   the rows of the tensors called NAME
//   V/V     one value divided by another     ~N      a list of flags, false for each Nth layer
//   ^KEY    the square root of KEY           !N      a list of flags, false for layers 0, N, 2 N
//   *       any: llama.cpp computes nothing with the key
//
// llama.cpp treats experts without groups as one group. Sources: src/llama-model.cpp (load_hparams,
// load_swa_pattern), src/llama-hparams.h, src/models/*.cpp.
constexpr std::string_view kAbsentValues =
    " attention.head_count_kv=attention.head_count"
    " attention.key_length=embedding_length/attention.head_count"
    " attention.value_length=embedding_length/attention.head_count"
    " rope.dimension_count=attention.key_length rope.freq_base=10000"
    " rope.freq_base_swa=rope.freq_base gemma3/rope.freq_base_swa=10000"
    " gemma4/rope.freq_base_swa=10000 rope.scaling.original_context_length=context_length"
    " rope.scaling.yarn_ext_factor=1 rope.scaling.yarn_beta_fast=32 rope.scaling.yarn_beta_slow=1"
    " vocab_size=#tokenizer.ggml.tokens leading_dense_block_count=0 attention.shared_kv_layers=0"
    " expert_group_count=1 expert_group_used_count=1 expert_weights_scale=1"
    " expert_weights_norm=0 deepseek2/expert_gating_func=1 glm4moe/expert_gating_func=2"
    " afmoe/expert_gating_func=2 cohere2moe/expert_gating_func=2 glm-dsa/expert_gating_func=2"
    " glm5-next/expert_gating_func=2"
    " hy_v3/expert_gating_func=2 laguna/expert_gating_func=2 step35/expert_gating_func=2"
    " hunyuan-moe/expert_shared_count=1 laguna/expert_shared_count=1"
    " expert_shared_count=expert_shared_feed_forward_length/expert_feed_forward_length"
    " expert_feed_forward_length=%.ffn_up_exps.weight"
    " expert_shared_feed_forward_length=%.ffn_up_shexp.weight"
    " gemma2/attn_logit_softcapping=50 gemma2/final_logit_softcapping=30 residual_scale=1"
    " embedding_scale=1 minicpm/embedding_scale=12 minicpm/residual_scale=1.4/^block_count"
    " minicpm/logit_scale=256/embedding_length rope.scaling.factor=rope.scale_linear"
    " rope.scaling.type=linear gemma2/attention.sliding_window=4096"
    " gemma3/attention.sliding_window=0 exaone-moe/attention.sliding_window=128"
    " rope.scale_linear=1 exaone-moe/rope.scaling.type=none nextn_predict_layers=0"
    " decoder_block_count=block_count use_parallel_residual=0"
    " attention.scale=1/^attention.key_length"
    " afmoe/attention.sliding_window_pattern=~4 cohere2/attention.sliding_window_pattern=~4"
    " exaone-moe/attention.sliding_window_pattern=~4 gemma2/attention.sliding_window_pattern=~2"
    " gemma3n/attention.sliding_window_pattern=~5 gpt-oss/attention.sliding_window_pattern=~2"
    " llama4/attention.sliding_window_pattern=~4"
    " phi3/attention.sliding_window=0 olmo2/attention.sliding_window_pattern=~4"
    " exaone4/attention.sliding_window_pattern=~1 full_attention_interval=4"
    " attention.recurrent_layers=~full_attention_interval cohere2/rope.scaling.type=none"
    " cohere2moe/rope.scaling.type=none cohere2moe/attention.sliding_window_pattern=!4"
    " laguna/attention.sliding_window_pattern=!4 laguna/attention.sliding_window=0"
    " phimoe/attention.sliding_window=0 qwen2vl/attention.layer_norm_rms_epsilon=0"
    " attention.key_length_swa=attention.key_length rope.scaling.attn_factor=1"
    " attention.value_length_swa=attention.value_length rope.scaling.finetuned=*"
    " rope.dimension_count_swa=rope.dimension_count swiglu_clamp_exp=0 swiglu_clamp_shexp=0"
    " mistral3/rope.scaling.yarn_log_multiplier=0 mistral3/attention.temperature_scale=0"
    " kda.safe_gate=1 feed_forward_length=* bailingmoe3/attention.value_length=*"
    " deepseek2/attention.value_length=* hy_v4/attention.value_length=*"
    " nemotron_h/rope.dimension_count=* nemotron_h_moe/rope.dimension_count=* ";

// The kind of `key` in `list`; 0: it is not there.
char kind_in(std::string_view list, std::string_view key) {
  if (key.empty() || key.find_first_of(" :") != key.npos) return 0;
  const std::string word = fmt::format(" {}:", key);
  const size_t at = list.find(word);
  return at == list.npos ? '\0' : list[at + word.size()];
}

MetaType type_of_kind(char kind) {
  switch (kind) {
    case 'f':
    case 'F':
    case 'G': return MetaType::kF32;
    case 'b': return MetaType::kBool;
    case 't': return MetaType::kText;
    case 'S':
    case 'i': return MetaType::kI32;
    case 'L':
    case 'A':
    case 'N':
    case 'C': return MetaType::kArray;
    default: return MetaType::kU32;
  }
}

// "general.base_model.0.name", "general.dataset.12.url", "tokenizer.chat_template.tool_use".
bool is_numbered_text(std::string_view key) {
  for (const std::string_view list : {"general.base_model.", "general.dataset."}) {
    if (!key.starts_with(list)) continue;
    const size_t end = key.find_first_not_of("0123456789", list.size());
    return end != key.npos && end != list.size() && key[end] == '.' && end + 1 < key.size();
  }
  constexpr std::string_view kTemplate = "tokenizer.chat_template.";
  return key.starts_with(kTemplate) && key.size() > kTemplate.size();
}

}  // namespace

std::string_view gguf_keys_of_file() { return kKeysOfFile; }

std::optional<GgufKey> find_gguf_key(std::string_view architecture, std::string_view key) {
  const bool is_own = !architecture.empty() && key.size() > architecture.size() &&
                      key.starts_with(architecture) && key[architecture.size()] == '.';
  if (is_own) {
    const char kind = kind_in(kKeysOfArchitecture, key.substr(architecture.size() + 1));
    return kind == 0 ? std::nullopt : std::optional(GgufKey{kind, type_of_kind(kind)});
  }
  const char read = kind_in(kKeysOfFile, key);
  const char written = read != 0               ? read
                       : is_numbered_text(key) ? 't'
                                               : kind_in(kKeysOfWriters, key);
  if (written == 0) return std::nullopt;
  const bool is_of_apertus = written == 'F';  // which alone reads these
  return GgufKey{written, type_of_kind(written), read != 0 || is_of_apertus};
}

namespace {

// Evaluates a VALUE of kAbsentValues. Returns 0 if the file lacks the key or tensor that it names.
double number_of_text(const Checkpoint& file, std::string_view text) {
  if (const auto number = number_from<double>(text)) return *number;
  const std::string_view rest = text.substr(1);
  if (text[0] == '#') {
    const MetaArray* list = file.metadata.find_array(rest);
    return list == nullptr ? 0 : static_cast<double>(list->count());
  }
  if (text[0] == '%') {
    const auto found = std::ranges::find_if(file.tensors, [&](const Tensor& tensor) {
      return tensor.name.ends_with(rest) && tensor.shape.size() >= 2;
    });
    return found == file.tensors.end() ? 0 : static_cast<double>(found->shape.end()[-2]);
  }
  if (const size_t over = text.find('/'); over != text.npos) {
    const double under = number_of_text(file, text.substr(over + 1));
    return under == 0 ? 0 : number_of_text(file, text.substr(0, over)) / under;
  }
  if (text[0] == '^') return std::sqrt(number_of_text(file, rest));
  const std::string key = fmt::format("{}.{}", file.metadata.architecture(), text);
  const MetaValue* declared = file.metadata.find(key);
  const auto value = declared == nullptr ? absent_gguf_value(file, key) : std::optional(*declared);
  const auto* whole = value ? std::get_if<uint64_t>(&value->value) : nullptr;
  const auto* real = value ? std::get_if<double>(&value->value) : nullptr;
  return whole != nullptr ? static_cast<double>(*whole) : real != nullptr ? *real : 0;
}

// A list with a flag for each block. The last block of each `step` is not set, or the first with
// `is_first`; blocks for multi-token prediction are not set either.
MetaValue flags_of_blocks(const Checkpoint& file, uint64_t step, bool is_first) {
  const auto count = [&](const char* name) {
    return std::min(static_cast<uint64_t>(number_of_text(file, name)), kMaxModelLayers);
  };
  const uint64_t blocks = count("block_count"), nextn = count("nextn_predict_layers");
  std::vector<bool> flags;
  for (uint64_t i = 0; i < blocks; ++i) {
    flags.push_back(i + nextn < blocks && (i + (is_first ? 0 : 1)) % step != 0);
  }
  return MetaValue::array(make_bool_array(flags));
}

// The VALUE of `key` in kAbsentValues; empty if it has none.
std::string_view absent_rule(std::string_view architecture, std::string_view key) {
  if (!key.starts_with(architecture) || key.size() <= architecture.size()) return {};
  const std::string_view name = key.substr(architecture.size() + 1);
  for (const std::string& start :
       {fmt::format("{}/{}=", architecture, name), fmt::format("{}=", name)}) {
    if (const auto found = words_after(kAbsentValues, start); !found.empty()) return found[0];
  }
  return {};
}

}  // namespace

bool computes_without(std::string_view architecture, std::string_view key) {
  return absent_rule(architecture, key) == "*";
}

std::optional<MetaValue> absent_gguf_value(const Checkpoint& file, std::string_view key) {
  const std::string_view architecture = file.metadata.architecture();
  const auto known = find_gguf_key(architecture, key);
  const std::string_view rule = absent_rule(architecture, key);
  if (!known || rule.empty() || rule == "*") return std::nullopt;
  if (known->type == MetaType::kText) return MetaValue::text(std::string(rule));
  const bool is_first = rule.starts_with('!'), is_list = is_first || rule.starts_with('~');
  const double number = number_of_text(file, rule.substr(is_list ? 1 : 0));
  if (is_list && number >= 1) return flags_of_blocks(file, static_cast<uint64_t>(number), is_first);
  if (is_list || (number == 0 && rule != "0")) return std::nullopt;
  if (known->type == MetaType::kF32) return MetaValue::f32(number);
  return MetaValue{known->type, static_cast<uint64_t>(number)};
}

namespace {

std::vector<std::string> all_keys(std::string_view architecture) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view list, const std::string& before) {
    for (const std::string_view word : split_words(list)) {
      out.push_back(before + std::string(word.substr(0, word.find(':'))));
    }
  };
  add(kKeysOfFile, "");
  add(kKeysOfWriters, "");
  if (!architecture.empty()) add(kKeysOfArchitecture, std::string(architecture) + ".");
  return out;
}

// Whether the words of `typed` begin those of `key`, in order: "pad_id" of "padding_token_id".
bool shortens(std::string_view typed, std::string_view key) {
  while (!typed.empty()) {
    const std::string_view wanted = take_word(typed, '_');
    bool found = false;
    while (!found && !key.empty()) found = take_word(key, '_').starts_with(wanted);
    if (!found) return false;
  }
  return true;
}

// The key with the same words in front whose last ones are like those of `key`.
std::string alike(const std::vector<std::string>& keys, std::string_view key) {
  const size_t dot = key.rfind('.');
  if (dot == key.npos) return {};
  const std::string_view before = key.substr(0, dot + 1), last = key.substr(dot + 1);
  std::vector<std::string> lasts;
  for (const std::string& each : keys) {
    if (!each.starts_with(before) || each.find('.', dot + 1) != each.npos) continue;
    lasts.push_back(each.substr(dot + 1));
    if (last.size() > 3 && shortens(last, lasts.back())) return each;
  }
  const std::string near = nearest(last, lasts);
  return near.empty() ? near : std::string(before) + near;
}

}  // namespace

std::optional<KeySuggestion> suggest_gguf_key(std::string_view architecture, std::string_view key) {
  const size_t dot = key.find('.');
  const std::string_view tail = dot == key.npos ? key : key.substr(dot + 1);
  if (!architecture.empty() && !key.starts_with(std::string(architecture) + ".")) {
    for (const std::string_view own : {key, tail}) {
      if (kind_in(kKeysOfArchitecture, own) == 0) continue;
      return KeySuggestion{fmt::format("{}.{}", architecture, own), own == key};
    }
  }
  const std::vector<std::string> keys = all_keys(architecture);
  const bool has_name = dot != key.npos;
  const std::string_view last = key.substr(key.rfind('.') + 1);
  for (const std::string& each : keys) {
    const bool is_its_end = each.ends_with(fmt::format(".{}", key));
    const bool has_its_ends = has_name && each.starts_with(key.substr(0, dot + 1)) &&
                              each.ends_with(fmt::format(".{}", last));
    if (is_its_end || has_its_ends) return KeySuggestion{each, false};
  }
  if (has_name) {  // "genral.name", "tokeniser.chat_template"
    std::vector<std::string> names{"general", "tokenizer", "tokenizer.ggml"};
    if (!architecture.empty()) names.emplace_back(architecture);
    const std::string near = nearest(key.substr(0, dot), names);
    const std::string whole = fmt::format("{}.{}", near, tail);
    if (!near.empty() && find_gguf_key(architecture, whole)) return KeySuggestion{whole, false};
  }
  std::string near =
      alike(keys, has_name ? std::string(key) : "tokenizer.ggml." + std::string(key));
  if (near.empty() && !has_name) near = alike(keys, "general." + std::string(key));
  if (near.empty() && !has_name) near = alike(keys, fmt::format("{}.{}", architecture, key));
  return near.empty() ? std::nullopt : std::optional(KeySuggestion{std::move(near), false});
}

}  // namespace ckpt
