// Derives and checks the numbers of architectures with several residual streams: DeepSeek V4
// compresses keys, GLM-5 Next pools them for its indexer, Qwen 4 adds embeddings that hashes of
// neighboring tokens choose. Sources: llama.cpp v0.5.0 src/models/{deepseek4,qwen4exp}.cpp, and
// glm5-next.cpp of a later release.
#include <fmt/format.h>

#include <algorithm>

#include "checks/gguf/gguf_rules.h"

namespace ckpt {
namespace {

constexpr uint64_t kIndexedRatio = 4, kLongRatio = 128;  // of DeepSeek V4's compressed keys
constexpr uint64_t kMaxHashHeads = 64, kMaxNgram = 8, kMostPooled = 64;

}  // namespace

// Adds by how many tokens DeepSeek V4 compresses keys in the block, and who chooses its experts.
void GgufNumbers::add_compression(JsonValue& out, uint64_t block) const {
  const uint64_t ratio = number_of("attention.compress_ratios", block);
  out["ratio"] = ratio;
  out["indexed"] = ratio == kIndexedRatio;
  out["overlap"] = uint64_t{ratio == kIndexedRatio ? 2U : 1U};
  out["hashed"] = block < number("hash_layer_count");
}

// Adds the table of embeddings that hashes of neighboring tokens choose, and whether the block
// reads it.
void GgufNumbers::add_hashes(JsonValue& out, uint64_t block) const {
  const MetaValue* layers = find("ple.layers");
  const auto* list = layers == nullptr ? nullptr : std::get_if<MetaArray>(&layers->value);
  const bool is_read = list != nullptr && list->count() > 0;
  const uint64_t ngram = number("ple.ngram_size");
  const uint64_t heads = is_read && ngram > 0 ? (ngram - 1) * number("ple.heads_per_ngram") : 0;
  uint64_t rows = 0;
  for (uint64_t head = 0; head < std::min(heads, kMaxHashHeads); ++head) {
    rows = std::max(rows, number_of("ple.head_offsets", head) +
                              number_of("ple.head_vocab_sizes", head));
  }
  out["ple_heads"] = heads;
  out["ple_rows"] = rows;
  out["ple"] = is_read && number_of("ple.layers", 0) == block;
}

// Returns the first fault of DeepSeek V4's numbers: its graph has four streams and mixes heads in
// groups.
std::string GgufNumbers::fault_of_compression() const {
  const uint64_t streams = number("hyper_connection.count");
  if (streams != 4) return fmt::format("hyper_connection.count is {}; expected 4", streams);
  const uint64_t heads = number("attention.head_count"),
                 groups = number("attention.output_group_count");
  if (groups == 0 || heads % groups != 0) {
    return fmt::format("{} heads in {} groups", heads, groups);
  }
  constexpr uint64_t kSqrtSoftplus = 4;
  if (const uint64_t gating = number("expert_gating_func"); gating != kSqrtSoftplus) {
    return fmt::format("expert_gating_func is {}; expected {}", gating, kSqrtSoftplus);
  }
  constexpr std::string_view kKey = "attention.compress_ratios";
  const MetaArray* list = checkpoint_.metadata.find_array(fmt::format("{}{}", prefix_, kKey));
  const uint64_t count = list == nullptr ? 0 : list->count();
  if (count < blocks_) return fmt::format("{} has {} values for {} blocks", kKey, count, blocks_);
  bool is_indexed = false;
  for (uint64_t block = 0; block < blocks_; ++block) {
    const uint64_t ratio = number_of(kKey, block);
    if (ratio != 0 && ratio != kIndexedRatio && ratio != kLongRatio) {
      return fmt::format("{} has {} for block {}; expected 0, {} or {}", kKey, ratio, block,
                         kIndexedRatio, kLongRatio);
    }
    is_indexed |= ratio == kIndexedRatio;
  }
  return is_indexed ? fault_of_indexer() : "";
}

// Returns the first fault of GLM-5 Next's numbers: its graph has four streams, rotates nothing, and
// its indexer chooses whole pools of keys.
std::string GgufNumbers::fault_of_pooling() const {
  const uint64_t streams = number("hyper_connection.count"),
                 turned = number("rope.dimension_count", 1),
                 pool = number("attention.indexer.kpool"),
                 chosen = number("attention.indexer.top_k");
  if (streams != 4) return fmt::format("hyper_connection.count is {}; expected 4", streams);
  if (turned != 0) return fmt::format("rope.dimension_count is {}; expected 0", turned);
  if (pool > 1 && chosen % pool == 0) return {};
  return fmt::format("the indexer chooses {} keys in pools of {}", chosen, pool);
}

// Returns the fault if a number is 0 that Qwen 4's loader takes only above 0.
std::string GgufNumbers::fault_of_zeros() const {
  for (const std::string_view key :
       {"ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank",
        "ssm.group_count", "hyper_connection.low_rank", "attention.indexer.head_count",
        "attention.indexer.key_length", "attention.indexer.top_k"}) {
    if (number(key) == 0) return fmt::format("{} is 0", key);
  }
  return {};
}

// Returns the first fault of the numbers of Qwen 4's residual streams and indexer.
std::string GgufNumbers::fault_of_hashes() const {
  if (std::string zero = fault_of_zeros(); !zero.empty()) return zero;
  const uint64_t streams = number("hyper_connection.count");
  if (streams < 2) return fmt::format("hyper_connection.count is {}; expected 2 or more", streams);
  const uint64_t indexed = number("attention.indexer.key_length");
  const uint64_t turned = of(0)["rot"].get<uint64_t>();
  if (indexed < turned) {
    return fmt::format("rope turns {} values of an indexer's head, which has {}", turned, indexed);
  }
  for (uint64_t block = 0; block < trunk(); ++block) {
    const uint64_t ratio = number_of("attention.compress_ratios", block);
    if (ratio <= kMostPooled || is_recurrent(block)) continue;
    return fmt::format("attention.compress_ratios has {} for block {}; expected {} at most", ratio,
                       block, kMostPooled);
  }
  return fault_of_ngrams();
}

// Returns the first fault of the numbers of the embeddings that hashes of tokens choose.
std::string GgufNumbers::fault_of_ngrams() const {
  const MetaArray* layers = checkpoint_.metadata.find_array(prefix_ + "ple.layers");
  if (layers == nullptr || layers->count() == 0) return {};
  if (layers->count() > 1) {
    return fmt::format("ple.layers has {} values; expected 1", layers->count());
  }
  const uint64_t layer = number_of("ple.layers", 0), ngram = number("ple.ngram_size");
  if (layer >= trunk() || !is_recurrent(layer)) {
    return fmt::format("layer {} of ple.layers is not one of linear attention", layer);
  }
  if (ngram < 2 || ngram > kMaxNgram) {
    return fmt::format("ple.ngram_size is {}; expected 2 to {}", ngram, kMaxNgram);
  }
  const uint64_t heads = (ngram - 1) * number("ple.heads_per_ngram");
  if (heads == 0 || heads > kMaxHashHeads) {
    return fmt::format("{} heads of hashes; expected 1 to {}", heads, kMaxHashHeads);
  }
  for (const std::string_view key : {"ple.conv_kernel", "embedding_length_per_layer_input"}) {
    if (number(key) == 0) return fmt::format("{} is 0", key);
  }
  if (find("ple.eos_token_id") == nullptr) return "ple.eos_token_id is missing";
  for (const auto& [key, wanted] : {std::pair("ple.layer_multipliers", ngram),
                                    std::pair("ple.head_offsets", heads),
                                    std::pair("ple.head_vocab_sizes", heads)}) {
    const MetaArray* list = checkpoint_.metadata.find_array(prefix_ + key);
    const uint64_t count = list == nullptr ? 0 : list->count();
    if (count < wanted) return fmt::format("{} has {} values; expected {}", key, count, wanted);
  }
  for (uint64_t head = 0; head < heads; ++head) {
    if (number_of("ple.head_vocab_sizes", head) > 0) continue;
    return fmt::format("ple.head_vocab_sizes has 0 for head {}", head);
  }
  return {};
}

}  // namespace ckpt
