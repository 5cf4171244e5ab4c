#include "core/model/tensor_names.h"

#include <algorithm>
#include <limits>

#include "core/base/numbers.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Modules of classes of transformers, without the prefix of the part, and of a GGUF.
constexpr std::string_view kEmbeddings =
    " embed_tokens word_embeddings wte embed_in tok_embeddings embeddings shared token_embd ";

// Whether `name` is the module `word` or one of its tensors.
bool is_at(std::string_view name, std::string_view word) {
  return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '.');
}

}  // namespace

std::string module_of(std::string_view tensor) {
  const size_t dot = tensor.rfind('.');
  return std::string(tensor.substr(0, dot == tensor.npos ? 0 : dot));
}

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::string listed_name(std::string_view tensor) {
  return tensor.ends_with(kWeight) ? module_of(tensor) : std::string(tensor);
}

bool is_of_head(std::string_view name) {
  const size_t inner = name.rfind(".lm_head");
  return is_at(name, "lm_head") ||
         (inner != name.npos && is_at(name.substr(inner + 1), "lm_head")) ||
         is_at(name, "embed_out") ||  // GPT-NeoX
         name == "head" || name == "head.weight" ||  // DeepSeek V4, but not head.dense.weight
         is_at(name, "output");       // InternLM 2, GGUF
}

bool is_of_embeddings(std::string_view name) {
  if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  return has_word(kEmbeddings, last_word(name));
}

std::optional<ExpertName> expert_name(std::string_view name) {
  constexpr std::string_view kExperts = "experts.";
  const size_t at = name.rfind(kExperts);
  if (at == name.npos) return std::nullopt;
  std::string_view rest = name.substr(at + kExperts.size());
  const auto number = take_leading<uint64_t>(rest);
  if (!number || !rest.starts_with('.')) return std::nullopt;
  return ExpertName{name.substr(0, at + kExperts.size()), *number, rest.substr(1)};
}

std::string_view experts_module(std::string_view name) {
  const size_t at = name.rfind(".experts.");
  return at == name.npos ? std::string_view() : name.substr(0, name.find('.', at + 1));
}

int64_t block_of(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  if (!name.starts_with(kBlock)) return -1;
  int64_t block = -1;
  for (size_t i = kBlock.size(); i < name.size() && name[i] >= '0' && name[i] <= '9'; ++i) {
    block = std::min<int64_t>(std::max<int64_t>(block, 0) * 10 + (name[i] - '0'),
                              std::numeric_limits<int32_t>::max());
  }
  return block;
}

bool quantized_order(std::string_view a, std::string_view b) {
  const int64_t block_a = block_of(a);
  const int64_t block_b = block_of(b);
  return block_a != block_b ? block_a < block_b : a < b;
}

}  // namespace ckpt
