// Compares a GGUF with what llama.cpp v0.5.0 requires of its architecture (models/gguf_tables.h).
// Private to checks/.
//
//   keys of the file ── numbers per layer ──▶ rows of the architecture ──▶ names and shapes
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/base/words.h"
#include "core/json/json_read.h"
#include "core/model/checkpoint.h"
#include "models/models.h"

namespace ckpt {

// Values of tokenizer.ggml.model for a file without tokens.
inline constexpr std::string_view kGgufNoTokenizer = " none no_vocab ";
struct CheckContext;
// Checks required keys, their types, and numbers that contradict each other.
void check_gguf_keys(const CheckContext& context, const std::string& architecture);
// Checks lists of tokens: their types, and duplicate texts.
void check_gguf_tokens(const CheckContext& context);
// Checks that tokens are of the kind that tokenizer.ggml.model declares, and that llama.cpp finds
// those of the chat template (gguf_vocabulary.cc).
void check_gguf_vocabulary(const CheckContext& context);
// Reports tensors that are missing, unknown or of another shape.
Status check_gguf_tensors(const CheckContext& context, const GgufArchitecture& rules);

// The numbers of the file, and of one block, each by name.
class GgufNumbers {
 public:
  GgufNumbers(const Checkpoint& checkpoint, const GgufArchitecture& rules);
  uint64_t blocks() const { return blocks_; }
  uint64_t trunk() const { return blocks_ - nextn_; }
  // The first tensor of the first block for multi-token prediction.
  std::string draft() const { return fmt::format("blk.{}.nextn.eh_proj.weight", trunk()); }
  // The blocks of a decoder that are counted apart; 0 for most architectures.
  uint64_t decoders() const {
    return has_graph("decodes") ? number("decoder_block_count", blocks_) : 0;
  }
  JsonValue of(uint64_t block) const;
  // The fault of numbers that llama.cpp rejects, or "".
  std::string fault() const;

 private:
  uint64_t number(std::string_view key, uint64_t otherwise = 0) const {
    return number_of(key, 0, otherwise);
  }
  // Finds a key without the architecture's prefix. Called often, for many blocks and keys.
  const MetaValue* find(std::string_view key) const {
    const auto found = keys_.find(fmt::format("{}{}", prefix_, key));
    return found == keys_.end() ? nullptr : found->second;
  }
  // The value of a key with one number, or with a number per block.
  uint64_t number_of(std::string_view key, uint64_t block, uint64_t otherwise = 0) const {
    return number_of_layer(find(key), block).value_or(otherwise);
  }
  uint64_t rows_of_vocabulary() const;
  bool has_graph(std::string_view word) const { return has_word(rules_.graph, word); }
  bool has_sliding() const;
  bool slides(uint64_t block) const;
  bool is_recurrent(uint64_t block) const;
  void add_file(JsonValue& out) const;
  void add_latent(JsonValue& out) const;
  void add_heads(JsonValue& out, uint64_t block, std::string_view end) const;
  void add_experts(JsonValue& out, uint64_t block) const;
  void add_kinds(JsonValue& out, uint64_t block) const;
  void add_compression(JsonValue& out, uint64_t block) const;
  void add_hashes(JsonValue& out, uint64_t block) const;
  std::string fault_of_experts() const;
  std::string fault_of_sharing() const;
  std::string fault_of_heads(const JsonValue& all) const;
  std::string fault_of_rotation() const;
  std::string fault_of_sections(uint64_t head) const;
  std::string fault_of_blocks() const;
  std::string fault_of_norms() const;
  std::string fault_of_memory() const;
  std::string fault_of_sliding() const;
  std::string fault_of_equals(const JsonValue& all) const;
  bool has_no_low_rank() const;
  std::string fault_of_graph() const;
  std::string fault_of_indexer() const;
  std::string fault_of_compression() const;
  std::string fault_of_hashes() const;
  std::string fault_of_pooling() const;
  std::string fault_of_ngrams() const;
  std::string fault_of_zeros() const;

  const Checkpoint& checkpoint_;
  const GgufArchitecture& rules_;
  std::string prefix_;
  uint64_t blocks_ = 0, nextn_ = 0;
  std::unordered_map<std::string_view, const MetaValue*> keys_;
  std::unordered_set<std::string_view> tensors_;
};

}  // namespace ckpt
