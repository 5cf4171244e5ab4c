// The vocabulary of SentencePiece's tokenizer.model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

inline constexpr float kPadScore = -10000.0f;  // for ids without a piece

// Tokens, scores and types of tokenizer.model, which must exist, and of the files next to it.
// Fails: kCorrupt for a broken file, or ids that are not integers or occur twice.
Result<Vocabulary> read_pieces(const Checkpoint& checkpoint, const JsonValue& config,
                               const TokenizerOptions& options, const Context& context);

struct SentencePieceModel;
// The pieces of `model` under their numbers, and tokens of added_tokens.json, as T5's class has
// them.
// Fails: as read_pieces.
Result<Vocabulary> numbered_pieces(const Checkpoint& checkpoint, const SentencePieceModel& model,
                                   const TokenizerOptions& options);

// SentencePiece's tokenizer.model: a ModelProto, of which a converter needs pieces and type.
//
//   1 pieces, one message each     1 text   2 score (F32)   3 type, default NORMAL
//   2 trainer_spec                 3 model_type: 1 unigram (default), 2 BPE, 3 word, 4 char
//                                 35 byte_fallback
//   3 normalizer_spec              2 precompiled_charsmap
//                                  3 add_dummy_prefix, default true
//                                  4 remove_extra_whitespaces, default true
//
// Source: google/sentencepiece src/sentencepiece_model.proto; conditions for loading a model:
// src/model_interface.cc InitializePieces. The fields of repeated messages are merged; if a scalar
// field is repeated, the last value counts.

// Fifteen times the largest published vocabulary.
inline constexpr uint64_t kMaxPieces = 4'000'000;
inline constexpr uint64_t kMaxPieceBytes = 64 << 10;

using PieceType = TokenType;  // with the same numbers
enum class PieceModel : uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

struct TextPiece {
  std::string text;  // UTF-8, not empty
  float score = 0;
  PieceType type = PieceType::kNormal;
};

struct SentencePieceModel {
  std::vector<TextPiece> pieces;  // in the order of ids
  PieceModel model = PieceModel::kUnigram;
  bool has_byte_fallback = false;
  bool adds_dummy_prefix = true, removes_extra_spaces = true;
  std::string character_map;  // precompiled_charsmap: how texts are normalized
};

// Fails: kCorrupt, naming the piece: another message, a limit above, or a model that SentencePiece
// rejects (an empty or repeated text, not exactly one unknown piece, byte pieces other than all 256
// of "<0x00>" to "<0xFF>"); kUnsupported: another type than those above.
Result<SentencePieceModel> read_sentencepiece(std::string_view file);

}  // namespace ckpt
