// llama.cpp v0.5.0's requirements for a GGUF of each architecture, as data: keys with their types,
// and tensors with their shapes; private to checks/.
//
//   keys of the file ── numbers of a layer ──▶ rows of the architecture ──▶ names and shapes
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

// A tensor of the file; one a layer where {} is in the name.
//   name    "blk.{}.attn_{q,k,v}" is one fused matrix or three, with biases or without; its shape
//           counts inputs, then what each of the three gives. "blk.{}.ffn_{gate,up}_exps" is one
//           stack of both or two. Any other list is a row for each word; that of ffn_down has the
//           first two sizes of its shape the other way round
//   shape   as GGUF orders dimensions; numbers of the layer (gguf_numbers.cc), as in
//           models/models.h
//   when    words that must all hold: numbers of the layer that are not 0, or with ! that are. And:
//           optional, it may be left out, but of all layers together; alone, of any layer;
//           biased, the biases of an optional kind are part of the model; needed, the file loads
//           without it, and its answers are noise; read, only in blocks that are read
struct GgufRow {
  std::string_view name, shape, when = {};
};

using GgufRowLists = RowLists<GgufRow>;

// When key and value heads of a layer may have the sizes of sliding attention.
enum class Sliding : uint8_t {
  kNever,
  kAlways,
  kIfSaid,      // where the file has a window
  kUnlessZero,  // unless the file has a window of 0
  kOf64Layers,
};

//   names   of general.architecture, between spaces
//   graph   words that gguf_numbers.cc looks for: numbers that the graph takes for granted
//   norm    as keys, but at least one of those without ! must be there
//   keys    names below the architecture's, or of the file behind /, with ! where one must be
//           there; what each holds is in models/gguf_keys.cc, but where this architecture reads
//           another kind: "name:kind"
struct GgufArchitecture {
  std::string_view names;
  GgufRowLists rows;
  std::string_view norm = "attention.layer_norm_rms_epsilon!";  // before `keys`
  std::string_view keys = {}, graph = {};
  bool needs_experts = false;
  bool has_nextn = false;       // the rows are those of blocks for multi-token prediction too
  bool may_lack_nextn = false;  // which may be in a file of their own
  bool has_mlp_blocks = false;  // blocks are recurrent, attention or an MLP, not two of these
  Sliding sliding = Sliding::kNever;
  uint64_t sliding_pattern = 0;  // the last of so many layers has full attention
};

// Words of tokenizer.ggml.model for a file that brings no tokens.
inline constexpr std::string_view kGgufNoTokenizer = " none no_vocab ";
// nullptr: no table has it.
const GgufArchitecture* find_gguf_architecture(std::string_view name);

// The tables, by families of names.
std::span<const GgufArchitecture> gguf_dense_architectures();
std::span<const GgufArchitecture> gguf_expert_architectures();
std::span<const GgufArchitecture> gguf_hybrid_architectures();

struct Look;
// Keys that must be there, their types, and numbers that do not go together.
void look_gguf_keys(const Look& look, const std::string& architecture);
// Lists of tokens: their types, and texts that stand twice.
void look_gguf_tokens(const Look& look);
// Whether tokens are of the kind that tokenizer.ggml.model says, and those of the chat template are
// found (gguf_vocabulary.cc).
void look_gguf_vocabulary(const Look& look);
// Tensors that are missing, too many or of another shape.
Status look_gguf_tensors(const Look& look, const GgufArchitecture& rules);

// Of the file as a whole, then of one block; both hold numbers by name.
class GgufNumbers {
 public:
  GgufNumbers(const Checkpoint& checkpoint, const GgufArchitecture& rules);
  uint64_t blocks() const { return blocks_; }
  uint64_t trunk() const { return blocks_ - nextn_; }
  JsonValue of(uint64_t block) const;
  // The numbers that llama.cpp refuses; empty: none.
  std::string fault() const;

 private:
  uint64_t number(std::string_view key, uint64_t otherwise = 0) const {
    return number_of(key, 0, otherwise);
  }
  // Below the architecture's name. Asked many times for each block; there may be many of both.
  const MetaValue* find(std::string_view key) const {
    const auto found = keys_.find(fmt::format("{}{}", prefix_, key));
    return found == keys_.end() ? nullptr : found->second;
  }
  // Of a key with a number, or one a block.
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

  const Checkpoint& checkpoint_;
  const GgufArchitecture& rules_;
  std::string prefix_;
  uint64_t blocks_ = 0, nextn_ = 0;
  std::unordered_map<std::string_view, const MetaValue*> keys_;
  std::unordered_set<std::string_view> tensors_;
};

}  // namespace ckpt
