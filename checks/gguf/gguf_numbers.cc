// Computes, per block, the numbers that shapes of GGUF tensors consist of, as llama.cpp v0.5.0
// reads them. Sources: src/llama-model.cpp (load_hparams), src/llama-hparams.cpp.
//
// A name without "_i" is that of block 0, which the loader mostly uses for all blocks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "checks/gguf/gguf_rules.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

uint64_t divided(uint64_t over, uint64_t under) { return under == 0 ? 0 : over / under; }

uint64_t at(const JsonValue& numbers, std::string_view word) {
  return numbers[word].get<uint64_t>();
}

template <class ProfileMatch>
bool has_row(const GgufArchitecture& rules, ProfileMatch asked) {
  return std::ranges::any_of(rules.rows,
                             [&](const auto rows) { return std::ranges::any_of(rows, asked); });
}
bool has_part(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

constexpr std::string_view kRouter = ".ffn_gate_inp.weight";
constexpr std::string_view kDenseFeed[] = {".ffn_gate.weight", ".ffn_up.weight",
                                           ".ffn_down.weight"};
constexpr std::string_view kRopeScalings = " none linear yarn longrope ";

}  // namespace

GgufNumbers::GgufNumbers(const Checkpoint& checkpoint, const GgufArchitecture& rules)
    : checkpoint_(checkpoint), rules_(rules) {
  for (const MetaEntry& entry : checkpoint.metadata.entries) {
    keys_.emplace(entry.key, &entry.value);
  }
  for (const Tensor& tensor : checkpoint.tensors) {
    tensors_.insert(tensor.name);
  }
  const std::string_view name = checkpoint.metadata.architecture();
  if (!name.empty()) prefix_ = fmt::format("{}.", name);
  blocks_ = number("block_count");
  nextn_ = std::min(number("nextn_predict_layers"), blocks_);
  if (has_graph("compressing") && !tensors_.contains(draft())) nextn_ = 0;  // as the loader does
}

uint64_t GgufNumbers::rows_of_vocabulary() const {
  const std::string* model = checkpoint_.metadata.find_text("tokenizer.ggml.model");
  if (model != nullptr && has_word(kGgufNoTokenizer, *model)) return number("vocab_size");
  const MetaArray* tokens = checkpoint_.metadata.find_array("tokenizer.ggml.tokens");
  return tokens == nullptr ? number("vocab_size") : tokens->count();
}

// Whether the model has layers with sliding attention.
bool GgufNumbers::has_sliding() const {
  constexpr std::string_view kWindow = "attention.sliding_window";
  switch (rules_.sliding) {
    case Sliding::kNever: return false;
    case Sliding::kAlways: return true;
    case Sliding::kIfSaid: return number(kWindow) > 0;
    case Sliding::kUnlessZero: return number(kWindow, 1) > 0;
    case Sliding::kOf64Layers: return trunk() == 64;
  }
  return false;
}

bool GgufNumbers::slides(uint64_t block) const {
  if (!has_sliding()) return false;
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  const MetaValue* declared = find(kPattern);
  if (declared != nullptr && std::holds_alternative<MetaArray>(declared->value)) {
    return number_of(kPattern, block) != 0;
  }
  const uint64_t pattern = number(kPattern, rules_.sliding_pattern);
  if (block >= trunk() || pattern == 0) return block < trunk();
  return block % pattern != (has_graph("first_is_full") ? 0 : pattern - 1);
}

bool GgufNumbers::is_recurrent(uint64_t block) const {
  if (block >= trunk()) return false;
  constexpr std::string_view kSaid = "attention.recurrent_layers";
  if (find(kSaid) != nullptr) return number_of(kSaid, block) != 0;
  const uint64_t interval = number("full_attention_interval", 4);
  return interval == 0 || (block + 1) % interval != 0;
}

void GgufNumbers::add_file(JsonValue& out) const {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"embd", "embedding_length"},
      {"context", "context_length"},
      {"expert", "expert_count"},
      {"shared", "expert_shared_count"},
      {"ff_shexp", "expert_shared_feed_forward_length"},
      {"conv", "ssm.conv_kernel"},
      {"inner", "ssm.inner_size"},
      {"state", "ssm.state_size"},
      {"rank", "ssm.time_step_rank"},
      {"group", "ssm.group_count"},
      {"l_cache", "shortconv.l_cache"},
      {"kda", "kda.head_dim"},
      {"per_layer", "embedding_length_per_layer_input"},
      {"indexer_head", "attention.indexer.head_count"},
      {"indexer_k", "attention.indexer.key_length"},
      {"kpool", "attention.indexer.kpool"},
      {"lora_kv", "attention.kv_lora_rank"},
      {"streams", "hyper_connection.count"},
      {"lowrank", "hyper_connection.low_rank"},
      {"res", "attn_res.block_size"},
      {"expert_latent", "expert_latent_length"},
      {"groups", "attention.output_group_count"},
      {"lora_o", "attention.output_lora_rank"},
      {"buckets", "attention.relative_buckets_count"},
      {"ple_conv", "ple.conv_kernel"},
      {"used", "expert_used_count"},
      {"dense_2_out", "dense_2_feat_out"},
      {"dense_3_in", "dense_3_feat_in"}};
  for (const auto& [word, key] : kKeys) out[word] = number(key);
  const uint64_t embd = number("embedding_length");
  out["vocab"] = rows_of_vocabulary();
  out["types"] =
      checkpoint_.metadata.find_unsigned("tokenizer.ggml.token_type_count").value_or(0);
  out["out"] = number("embedding_length_out", embd);
  const uint64_t latent = std::max(number("moe_latent_size"), number("expert_latent_length"));
  out["latent"] = latent == 0 ? embd : latent;
  out["shared_or_one"] = std::max<uint64_t>(number("expert_shared_count"), 1);
  out["two"] = uint64_t{2};
  out["trunk_count"] = trunk();
  out["drafts"] = nextn_;
  out["plus"] = trunk() >= 64;
  const MetaArray* labels = checkpoint_.metadata.find_array(prefix_ + "classifier.output_labels");
  out["labels"] = labels == nullptr ? 1 : labels->count();
  const std::string* scaling = checkpoint_.metadata.find_text(prefix_ + "rope.scaling.type");
  out["longrope"] = scaling != nullptr && *scaling == "longrope";
}

// Whether DeepSeek attention has no low rank for queries: in small models it never does.
bool GgufNumbers::has_no_low_rank() const {
  const uint64_t layers = trunk();
  const uint64_t vocabulary = number("vocab_size", rows_of_vocabulary());
  return layers == 26 || layers == 27 || (layers == 48 && vocabulary == 128'256);
}

void GgufNumbers::add_latent(JsonValue& out) const {
  const bool is_small = has_graph("low_rank") && has_no_low_rank();
  out["lora_q"] = is_small ? 0 : number("attention.q_lora_rank");
  const uint64_t key = number("attention.key_length_mla");
  const uint64_t value = number("attention.value_length_mla");
  const bool is_mla = key != 0 && value != 0;
  const uint64_t wide = is_mla ? key : at(out, "k"), turned = at(out, "rot");
  out["mla"] = is_mla;
  out["k_mla"] = wide;
  out["v_mla"] = is_mla ? value : at(out, "v");
  out["nope"] = wide > turned ? wide - turned : 0;
}

// `end` is "" for the numbers of block 0 and "_i" for those of the block itself.
void GgufNumbers::add_heads(JsonValue& out, uint64_t block, std::string_view end) const {
  const auto set = [&](std::string_view word, uint64_t value) {
    out[fmt::format("{}{}", word, end)] = value;
  };
  const uint64_t heads = number_of("attention.head_count", block);
  const uint64_t key_heads = number_of("attention.head_count_kv", block, heads);
  const uint64_t first = number("attention.head_count");
  const uint64_t usual = divided(number("embedding_length"), first);
  const bool is_short = slides(block);
  uint64_t key = first == 0 ? 0 : number("attention.key_length", usual);
  uint64_t value = first == 0 ? 0 : number("attention.value_length", usual);
  uint64_t turned = first == 0 ? 0 : number("rope.dimension_count", key);
  if (is_short) {
    key = number("attention.key_length_swa", key);
    value = number("attention.value_length_swa", value);
    turned = number("rope.dimension_count_swa", turned);
  }
  const Tensor* gate = checkpoint_.find_tensor(fmt::format("blk.{}.attn_gate.weight", block));
  set("gate", gate != nullptr && gate->rows() == heads * key ? heads * key : heads);
  set("head", heads);
  set("head_kv", key_heads);
  set("k", key);
  set("v", value);
  set("rot", turned);
  set("k_gqa", key * key_heads);
  set("v_gqa", value * key_heads);
  set("ff", number_of("feed_forward_length", block));
  set("head_half", divided(number("embedding_length"), heads) / 2);
}

void GgufNumbers::add_experts(JsonValue& out, uint64_t block) const {
  const auto width = [&](uint64_t at) {
    const uint64_t own = number_of("expert_feed_forward_length", at);
    const uint64_t all = number_of("feed_forward_length", at < trunk() ? at : 0);
    return own != 0 ? own : divided(all, number_of("expert_used_count", at));
  };
  out["ff_exp"] = number("expert_feed_forward_length");
  out["expert_width"] = width(0);
  out["expert_width_i"] = width(block);
  const auto set_or = [&](std::string_view word, std::string_view key, uint64_t otherwise) {
    out[word] = number(key) != 0 ? number(key) : otherwise;
  };
  set_or("exp_or_ff", "expert_feed_forward_length", number("feed_forward_length"));
  set_or("shared_width", "expert_shared_feed_forward_length", number("feed_forward_length"));
  set_or("shexp_width", "expert_shared_feed_forward_length", width(0));
  const bool is_dense = block >= trunk() && has_graph("dense_nextn");
  out["moe"] = block >= number("leading_dense_block_count") && !is_dense;
  const uint64_t step = number("interleave_moe_layer_step");
  out["interleaved"] = step > 0 && (block + 1) % step == 0;
}

// Adds the kind of the block.
void GgufNumbers::add_kinds(JsonValue& out, uint64_t block) const {
  const bool is_nextn = block >= trunk() && block < blocks_;
  out["encodes"] = block < blocks_;
  out["decodes"] = block < decoders();
  out["nextn"] = is_nextn;
  out["first"] = block == 0;
  out["recurrent"] = is_recurrent(block);
  out["owns_indexer"] = number("attention.indexer.top_k") > 0 &&
                        number_of("attention.indexer.types", block, 1) != 0;
  out["has_kv"] = block + number("attention.shared_kv_layers") < blocks_;
  bool is_full_first = !slides(block);
  for (uint64_t before = 0; is_full_first && before < block; ++before) {
    is_full_first = slides(before);
  }
  out["full_first"] = is_full_first;
  const bool is_mlp = rules_.has_mlp_blocks && out["ff_i"] != 0;
  const bool is_mamba =
      !is_nextn && (has_graph("mamba_alone") || (out["head_kv_i"] == 0 && !is_mlp));
  out["mamba"] = is_mamba;
  out["attention"] = is_nextn || (!is_mamba && !is_mlp);
  const auto has = [&](std::string_view end) {
    return tensors_.contains(fmt::format("blk.{}{}", block, end));
  };
  const bool has_router =
      has(kRouter) || (has_graph("dense_if_fed") && std::ranges::none_of(kDenseFeed, has));
  out["shares"] = has(".ffn_gate_shexp.weight");
  out["routed"] = rules_.has_mlp_blocks ? is_nextn || (is_mlp && out["expert"] != 0) : has_router;
}

JsonValue GgufNumbers::of(uint64_t block) const {
  JsonValue out = JsonValue::object();
  add_file(out);
  add_heads(out, 0, "");
  add_heads(out, block, "_i");
  add_latent(out);
  add_experts(out, block);
  add_kinds(out, block);
  if (has_graph("compressing")) add_compression(out, block);
  if (has_graph("hashed_embedding")) add_hashes(out, block);
  return out;
}

std::string GgufNumbers::fault_of_experts() const {
  const uint64_t declared = number("expert_count"), groups = number("expert_group_count");
  const bool has_none = has_graph("lone_expert") && declared <= 1;  // a single expert is not used
  const uint64_t experts = has_none ? 0 : declared;
  uint64_t used = 0;
  for (uint64_t block = 0; block < blocks_; ++block) {
    if (!has_none) used = std::max(used, number_of("expert_used_count", block));
  }
  const bool reads_gating = has_part(rules_.keys, "expert_gating_func");
  const uint64_t gating = reads_gating ? number("expert_gating_func") : 0;
  // Graphs without a default gating function ("gates") stop at 0, the value of a missing key too.
  const bool has_gate = gating > 0 || !has_graph("gates") || experts == 0;
  if (gating > 4 || !has_gate) return fmt::format("expert_gating_func is {}", gating);
  if (experts > 1024) return fmt::format("expert_count is {}; expected at most 1024", experts);
  if (used > experts) return fmt::format("{} of {} experts are used", used, experts);
  if (experts > 0 && used == 0) return fmt::format("none of {} experts is used", experts);
  if (experts == 0 && rules_.needs_experts) return "expert_count is 0";
  if (experts == 0) return groups > 0 ? "groups of no experts" : "";
  if (groups >= experts) return fmt::format("{} experts in {} groups", experts, groups);
  if (groups <= 1) return {};
  const uint64_t of_them = number("expert_group_used_count");
  if (experts % groups != 0) return fmt::format("{} experts in {} groups", experts, groups);
  const bool is_share = of_them > 0 && of_them < groups;
  return is_share ? "" : fmt::format("{} of {} groups of experts are used", of_them, groups);
}

// Layers that share keys and values use those of the last or last but one layer before them.
std::string GgufNumbers::fault_of_sharing() const {
  const uint64_t shared = number("attention.shared_kv_layers");
  if (shared + 2 > blocks_) {
    return fmt::format("{} of {} layers share keys and values", shared, blocks_);
  }
  const uint64_t own = blocks_ - shared;
  for (uint64_t block = own; block < blocks_; ++block) {
    const uint64_t source = own - (slides(block) ? 2 : 1);
    if (slides(block) == slides(source)) continue;
    return fmt::format(
        "layer {} would share the keys of layer {}, whose attention is of another kind", block,
        source);
  }
  return {};
}

// Rotation must fit into a head. Latent attention, and shapes that depend on the rotated width,
// store these values elsewhere.
std::string GgufNumbers::fault_of_rotation() const {
  const bool is_elsewhere =
      has_row(rules_, [](const GgufRow& row) { return has_part(row.shape, "*rot"); });
  if (has_graph("no_rope") || is_elsewhere || number("attention.kv_lora_rank") != 0) return {};
  const uint64_t blocks = rules_.sliding == Sliding::kNever ? 1 : trunk();
  for (uint64_t block = 0; block < blocks; ++block) {
    JsonValue numbers = JsonValue::object();
    add_heads(numbers, block, "");
    const uint64_t turned = at(numbers, "rot"), key = at(numbers, "k");
    if (turned <= key) continue;
    return fmt::format("rope turns {} values of a head, which has {}", turned, key);
  }
  return {};
}

// With positions on several axes, each axis rotates a range of a head's values.
std::string GgufNumbers::fault_of_sections(uint64_t head) const {
  constexpr std::string_view kKey = "rope.dimension_sections";
  const auto section = [&](uint64_t axis) { return number_of(kKey, axis); };
  const uint64_t axes = section(0) + section(1) + section(2), all = axes + section(3);
  const bool has_axes = has_part(rules_.keys, "rope.dimension_sections!") ||
                        (has_graph("axes_if_said") && section(0) > 0 && section(1) > 0);
  if (!has_axes || (axes > 0 && all <= head)) return {};
  return fmt::format("{} are {} together; expected 1 to the {} values of a head", kKey,
                     axes == 0 ? 0 : all, head);
}

// Queries as wide as the model must split into heads, and the latent cache includes rotated values.
std::string GgufNumbers::fault_of_heads(const JsonValue& all) const {
  const bool has_square = has_row(rules_, [](const GgufRow& row) {
    const bool is_attention =
        row.name.ends_with("attn_{q,k,v}") || row.name.ends_with("qkv.weight");
    return is_attention && row.shape.starts_with("embd embd");
  });
  const uint64_t key = at(all, "k"), head = at(all, "head"), turned = at(all, "rot");
  if (has_square && head * key != all["embd"]) {
    return fmt::format("{} heads of {} values; expected {} together", head, key,
                       all["embd"].dump());
  }
  if (all["embd"] == 0) return {};  // check_gguf_keys() reports the key
  if (!has_graph("no_rope") && (turned == 0 || turned % 2 != 0)) {
    return fmt::format("rope turns {} values of a head; expected an even number", turned);
  }
  if (std::string wide = fault_of_rotation(); !wide.empty()) return wide;
  if (std::string sections = fault_of_sections(key); !sections.empty()) return sections;
  if (all["mla"] == false && number("attention.value_length", 1) == 0)
    return "attention.value_length is 0";
  const uint64_t latent = at(all, "lora_kv") + turned;
  if (latent != turned && all["mla"] == true && key != latent) {
    return fmt::format("attention.key_length is {}; expected {}", key, latent);
  }
  return {};
}

// Most architectures' graphs use the key heads of block 0 for all blocks; shapes follow from the
// heads of block 0, while some graphs read those of each block.
std::string GgufNumbers::fault_of_blocks() const {
  const bool is_of_block = has_row(rules_, [](const GgufRow& row) {
    return has_part(row.shape, "head_i") || has_part(row.shape, "gqa_i");
  });
  if (is_of_block) return {};
  for (const std::string_view key : {"attention.head_count_kv", "attention.head_count"}) {
    const bool is_read = key.ends_with("_kv") || has_graph("heads_of_block");
    for (uint64_t block = 1; is_read && block < trunk(); ++block) {
      if (number_of(key, block) == number(key)) continue;
      return fmt::format("{} is {} in block 0 and {} in block {}", key, number(key),
                         number_of(key, block), block);
    }
  }
  return {};
}

// Reports an epsilon that is negative or NaN, with which norms abort.
std::string GgufNumbers::fault_of_norms() const {
  for (const std::string_view key :
       {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
    if (!has_part(rules_.norm, key) && !has_part(rules_.keys, key)) continue;  // not read
    const MetaValue* found = find(key);
    const double* value = found == nullptr ? nullptr : std::get_if<double>(&found->value);
    if (value != nullptr && !(*value >= 0)) return fmt::format("{} is {}", key, *value);
  }
  const auto norms = split_words(rules_.norm);
  const bool has_one = norms.empty() || rules_.norm.ends_with('!') ||
                       std::ranges::any_of(norms, [&](auto key) { return find(key) != nullptr; });
  return has_one ? "" : fmt::format("no {}", norms.front());
}

// A hybrid model needs at least one layer for each of its two memories.
std::string GgufNumbers::fault_of_memory() const {
  if (!has_graph("hybrid")) return {};
  const bool is_gated = has_graph("gated_delta");
  bool has_recurrent = false, has_attention = false;
  for (uint64_t block = 0; block < trunk() && !(has_recurrent && has_attention); ++block) {
    const JsonValue numbers = of(block);
    has_recurrent |= numbers[is_gated ? "recurrent" : "mamba"] == true;
    has_attention |= is_gated ? numbers["recurrent"] == false : numbers["attention"] == true;
  }
  if (!has_attention) return "no layer has attention";
  return has_recurrent ? "" : "no layer is recurrent";
}

// A model with a window needs a layer that uses it, and some models' graphs require a window.
std::string GgufNumbers::fault_of_sliding() const {
  if (!has_sliding()) return has_graph("slides_only") ? "no attention.sliding_window" : "";
  for (uint64_t block = 0; block < blocks_; ++block) {
    if (slides(block)) return {};
  }
  return "no layer has sliding attention";
}

// The graph multiplies the indexer's keys with a matrix whose size is a power of two, at least 64.
std::string GgufNumbers::fault_of_indexer() const {
  constexpr std::string_view kKey = "attention.indexer.key_length";
  const uint64_t size = number(kKey), least = std::max<uint64_t>(at(of(0), "rot"), 64);
  if (size >= least && std::has_single_bit(size)) return {};
  return fmt::format("{} is {}; expected a power of two, {} at least", kKey, size, least);
}

// The fault of values that abort the program when it builds its graph, or "".
std::string GgufNumbers::fault_of_graph() const {
  if (has_graph("sharing")) return fault_of_sharing();
  if (has_graph("indexer")) return fault_of_indexer();
  if (has_graph("compressing")) return fault_of_compression();
  if (has_graph("hashed_embedding")) return fault_of_hashes();
  if (has_graph("pooling")) return fault_of_pooling();
  if (decoders() > blocks_) {
    return fmt::format("decoder_block_count is {}; expected at most block_count, {}", decoders(),
                       blocks_);
  }
  const uint64_t deep = number("n_deepstack_layers");
  if (has_graph("deepstack") && deep >= trunk()) {
    return fmt::format("n_deepstack_layers is {} of {} layers", deep, trunk());
  }
  if (has_graph("rope_left_out") && number("attention.sliding_window", 1) > 0 && trunk() < 4) {
    return fmt::format("{} layers, of which none is without rope; expected 4 at least", trunk());
  }
  return {};
}

// The fault of sizes that graphs assume to be equal, or "".
std::string GgufNumbers::fault_of_equals(const JsonValue& all) const {
  const uint64_t heads = number("attention.head_count_kv", number("attention.head_count"));
  const bool is_latent = has_graph("low_rank") || has_graph("mla_alone");
  if (is_latent && all["mla"] == true && heads != 1) {
    return fmt::format("attention.head_count_kv is {}; expected 1", heads);
  }
  if (has_graph("all_heads") && all["head_kv"] != all["head"]) {
    return fmt::format("attention.head_count_kv is {}; expected {}", heads, all["head"].dump());
  }
  for (uint64_t block = 0; block < blocks_ && has_graph("one_key_head"); ++block) {
    const uint64_t own = number_of("attention.head_count_kv", block, at(all, "head"));
    if (own <= 1) continue;
    return fmt::format("attention.head_count_kv is {} in block {}; expected 1", own, block);
  }
  const uint64_t values = number("ssm.time_step_rank") * number("ssm.state_size");
  if (has_graph("gated_delta") && all["inner"] != values) {
    return fmt::format("ssm.inner_size is {}; expected ssm.time_step_rank * ssm.state_size, {}",
                       all["inner"].dump(), values);
  }
  for (const std::string_view key : {"attention.key_length", "attention.value_length"}) {
    const uint64_t full = number(key);
    const uint64_t sliding = number(fmt::format("{}_swa", key), full);
    if (!has_graph("equal_sliding") || full == 0 || sliding == full) continue;
    return fmt::format("{}_swa is {}; expected {}", key, sliding, full);
  }
  return {};
}

std::string GgufNumbers::fault() const {
  if (number("nextn_predict_layers") > blocks_) return "more blocks for prediction than blocks";
  if (std::string of_experts = fault_of_experts(); !of_experts.empty()) return of_experts;
  const std::string* scaling = checkpoint_.metadata.find_text(prefix_ + "rope.scaling.type");
  if (scaling != nullptr && !has_word(kRopeScalings, *scaling)) {
    return fmt::format("rope.scaling.type is '{}'", *scaling);
  }
  const JsonValue all = of(0);
  if (!has_graph("other_values") && all["k"] != all["v"]) {
    return fmt::format("attention.key_length is {} and value_length {}", all["k"].dump(),
                       all["v"].dump());
  }
  if (has_graph("turned_whole") && all["rot"] != all["k"]) {
    return fmt::format("rope.dimension_count is {}; heads have {} values", all["rot"].dump(),
                       all["k"].dump());
  }
  if (has_graph("double_inner") && all["inner"] != 2 * number("embedding_length")) {
    return fmt::format("ssm.inner_size is {}; expected twice embedding_length",
                       all["inner"].dump());
  }
  if (has_graph("mla_alone") && all["mla"] == false) return "no attention.key_length_mla";
  constexpr std::string_view kQueryRank = "attention.q_lora_rank";
  if (has_graph("low_rank") && !has_no_low_rank()) {
    const MetaValue* rank = find(kQueryRank);
    if (rank == nullptr) return fmt::format("{} is missing", kQueryRank);
    if (rank->type != MetaType::kU32) {
      return fmt::format("{} is a {}; expected u32", kQueryRank, name(rank->type));
    }
  }
  if (std::string equals = fault_of_equals(all); !equals.empty()) return equals;
  if (std::string memory = fault_of_memory(); !memory.empty()) return memory;
  if (std::string sliding = fault_of_sliding(); !sliding.empty()) return sliding;
  if (std::string heads = fault_of_heads(all); !heads.empty()) return heads;
  if (std::string blocks = fault_of_blocks(); !blocks.empty()) return blocks;
  if (std::string norms = fault_of_norms(); !norms.empty()) return norms;
  return fault_of_graph();
}

}  // namespace ckpt
