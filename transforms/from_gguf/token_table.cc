#include "transforms/from_gguf/token_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/base/utf8.h"

namespace ckpt {
namespace {

constexpr float kAddedTokenScore = -1000.0f;
// Limits the search for merges at each character of a token. Published ones have up to 128 bytes.
constexpr size_t kMaxTokenBytes = 1024;

const MetaArray* list_at(const Checkpoint& file, std::string_view name) {
  return file.metadata.find_array(fmt::format("tokenizer.ggml.{}", name));
}

// Whether converters filled up the vocabulary with the token.
bool is_padding(const TokenTable& table, size_t id) {
  return table.text(id) == fmt::format("[PAD{}]", id);
}

Status check_texts(const TokenTable& table) {
  std::unordered_set<std::string_view> seen;
  for (size_t id = 0; id < table.size(); ++id) {
    const std::string& text = table.text(id);
    if (!is_utf8(text)) return corrupt("tokenizer.ggml.tokens: token {} is not UTF-8", id);
    if (text.size() > kMaxTokenBytes) {
      return unsupported("tokenizer.ggml.tokens: token {} has {} bytes; at most {}", id,
                         text.size(), kMaxTokenBytes);
    }
    if (table.type(id) == TokenType::kUnused || seen.insert(text).second) continue;
    return corrupt("tokenizer.ggml.tokens: token {} is '{}', as an earlier one", id, text);
  }
  return {};
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}
void put_number(std::string& out, uint32_t field, uint64_t value) {
  put_varint(out, uint64_t{field} << 3);
  put_varint(out, value);
}
void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_varint(out, (uint64_t{field} << 3) | 2);
  put_varint(out, bytes.size());
  out += bytes;
}
void put_float(std::string& out, uint32_t field, float value) {
  put_varint(out, (uint64_t{field} << 3) | 5);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

}  // namespace

Result<TokenTable> read_token_table(const Checkpoint& file) {
  TokenTable out;
  const MetaArray* tokens = list_at(file, "tokens");
  if (tokens == nullptr || tokens->element != MetaType::kText || tokens->texts.empty()) {
    return misuse_hint(kOtherTokenizer, "the file has no tokens");
  }
  out.tokens = &tokens->texts;
  const MetaArray* types = list_at(file, "token_type");
  for (size_t id = 0; id < out.size(); ++id) {
    const bool is_there = types != nullptr && types->holds_numbers() && id < types->count();
    out.types.push_back(is_there ? static_cast<int32_t>(number_at(*types, id)) : 1);
  }
  if (const MetaArray* scores = list_at(file, "scores"); scores != nullptr) {
    if (!scores->holds_numbers() || scores->count() != out.size()) {
      return corrupt("tokenizer.ggml.scores has {} numbers for {} tokens", scores->count(),
                     out.size());
    }
    for (size_t id = 0; id < out.size(); ++id) {
      out.scores.push_back(static_cast<float>(number_at(*scores, id)));
    }
  }
  // Converters of 2024 gave such tokens the type of unknown ones.
  for (size_t id = 0; id < out.size(); ++id) {
    const bool is_unused = out.type(id) == TokenType::kUnknown && is_padding(out, id);
    if (is_unused) out.types[id] = static_cast<int32_t>(TokenType::kUnused);
  }
  if (const MetaArray* merges = list_at(file, "merges")) out.merges = merges->texts;
  CKPT_TRY(check_texts(out));
  return out;
}

std::optional<uint64_t> special_id(const Checkpoint& file, const TokenTable& table,
                                   std::string_view kind) {
  const auto id = file.metadata.find_unsigned(fmt::format("tokenizer.ggml.{}_token_id", kind));
  return id && *id < table.size() ? id : std::nullopt;
}

std::optional<bool> tokenizer_flag(const Checkpoint& file, std::string_view name) {
  const MetaValue* value = file.metadata.find(fmt::format("tokenizer.ggml.{}", name));
  if (value == nullptr || value->type != MetaType::kBool) return std::nullopt;
  return std::get<uint64_t>(value->value) != 0;
}

bool is_outside_pieces_file(const TokenTable& table, size_t id) {
  const TokenType type = table.type(id);
  return (type == TokenType::kControl || type == TokenType::kUserDefined) &&
         table.scores[id] == kAddedTokenScore;
}

bool has_merge_places(const TokenTable& table) {
  return std::ranges::find(table.scores, kNeverMergedScore) != table.scores.end();
}

std::optional<uint64_t> unknown_piece(const Checkpoint& file, const TokenTable& table) {
  if (has_merge_places(table)) return std::nullopt;
  std::optional<uint64_t> out;
  for (size_t id = 0; id < table.size(); ++id) {
    if (table.type(id) != TokenType::kUnknown) continue;
    if (out) return std::nullopt;
    out = id;
  }
  if (out) return out;
  out = special_id(file, table, "unknown");
  return out && is_outside_pieces_file(table, *out) ? out : std::nullopt;
}

size_t piece_count(const TokenTable& table) {
  size_t count = table.size();
  while (count > 0) {
    const size_t id = count - 1;
    const bool is_unused = table.type(id) == TokenType::kUnused && is_padding(table, id);
    if (!is_outside_pieces_file(table, id) && !is_unused) break;
    --count;
  }
  return count;
}

std::string piece_file_of(const TokenTable& table, uint64_t unknown, const PieceSettings& file) {
  std::string out, trainer, normalizer;
  const size_t count = piece_count(table);
  bool has_bytes = false;
  for (size_t id = 0; id < count; ++id) {
    std::string piece;
    put_bytes(piece, 1, table.text(id));
    put_float(piece, 2, table.scores[id]);
    const auto type = id == unknown ? static_cast<int32_t>(TokenType::kUnknown) : table.types[id];
    if (type != static_cast<int32_t>(TokenType::kNormal)) {
      put_number(piece, 3, static_cast<uint64_t>(type));
    }
    has_bytes = has_bytes || table.type(id) == TokenType::kByte;
    put_bytes(out, 1, piece);
  }
  put_number(trainer, 3, file.is_unigram ? 1 : 2);  // model_type
  put_number(trainer, 4, count);  // vocab_size
  if (has_bytes) put_number(trainer, 35, 1);
  put_bytes(out, 2, trainer);
  put_bytes(normalizer, 1, "identity");
  if (!file.character_map.empty()) put_bytes(normalizer, 2, file.character_map);
  put_number(normalizer, 3, file.adds_prefix ? 1 : 0);
  put_number(normalizer, 4, file.removes_extra ? 1 : 0);
  put_bytes(out, 3, normalizer);
  return out;
}

bool has_scores(const TokenTable& table) {
  std::optional<float> first;
  for (size_t id = 0; id < table.size(); ++id) {
    if (table.type(id) != TokenType::kNormal) continue;
    if (first && table.scores[id] != *first) return true;
    first = table.scores[id];
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> merges_of_scores(const TokenTable& table) {
  // Without scores, ids follow the order of merges.
  const bool is_scored = has_scores(table);
  struct Merge {
    std::string_view left, right;
    double score;
    uint64_t left_id, right_id;
  };
  std::unordered_map<std::string_view, uint64_t> ids;
  const size_t count = piece_count(table);
  for (size_t id = 0; id < count; ++id) ids[table.text(id)] = id;
  std::vector<Merge> found;
  for (size_t id = 0; id < count; ++id) {
    if (table.scores[id] == kNeverMergedScore) continue;
    const std::string_view text = table.text(id);
    const size_t first = found.size();
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((static_cast<uint8_t>(text[cut]) & 0xC0) == 0x80) continue;  // inside a character
      const auto left = ids.find(text.substr(0, cut));
      const auto right = ids.find(text.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      const double score =
          is_scored ? static_cast<double>(table.scores[id]) : -static_cast<double>(id);
      found.push_back({left->first, right->first, score, left->second, right->second});
    }
    std::sort(found.begin() + static_cast<long>(first), found.end(),
              [](const Merge& a, const Merge& b) {
                return std::tie(a.left_id, a.right_id) < std::tie(b.left_id, b.right_id);
              });
  }
  const auto characters = [](std::string_view text) {
    return std::ranges::count_if(text,
                                 [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; });
  };
  // Python's reversed sort is stable too.
  std::ranges::stable_sort(found, [&](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    const auto left_a = characters(a.left), left_b = characters(b.left);
    if (left_a != left_b) return left_a > left_b;
    return characters(a.right) > characters(b.right);
  });
  std::vector<std::pair<std::string, std::string>> out;
  for (const Merge& merge : found) out.emplace_back(merge.left, merge.right);
  return out;
}

}  // namespace ckpt
