// Vocabulary of tokenizer.model, as SentencePiece writes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/transform.h"
#include "transforms/to_gguf/tokenizer/vocabulary.h"

namespace ckpt {

inline constexpr float kPadScore = -10000.0f;  // of ids without a piece

// Tokens, scores and types of tokenizer.model, which must exist, and of the files next to it.
// Fails: kCorrupt for a broken file, ids that are not whole numbers or occur twice.
Result<Vocabulary> read_pieces(const Checkpoint& checkpoint, const JsonValue& config,
                               const TokenizerOptions& options, const Context& context);

// tokenizer.model of SentencePiece: a ModelProto, of which a converter needs pieces and kind.
//
//   1 pieces, one message each     1 text   2 score (F32)   3 type, NORMAL when absent
//   2 trainer_spec                 3 model_type: 1 unigram, 2 BPE, 3 word, 4 char; 1 when absent
//                                 35 byte_fallback
//   3 normalizer_spec              2 precompiled_charsmap
//                                  3 add_dummy_prefix, true when absent
//                                  4 remove_extra_whitespaces, true when absent
//
// Source: google/sentencepiece src/sentencepiece_model.proto; what makes a model loadable:
// src/model_interface.cc InitializePieces. A message may stand several times, and then its fields
// are merged; of a field that does, the last one counts.

// Fifteen times the largest vocabulary published.
inline constexpr uint64_t kMaxPieces = 4'000'000;
inline constexpr uint64_t kMaxPieceBytes = 64 << 10;

using PieceType = TokenType;  // by the same numbers
enum class PieceModel : uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

struct TextPiece {
  std::string text;  // UTF-8, not empty
  float score = 0;
  PieceType type = PieceType::kNormal;
};

struct SentencePieceModel {
  std::vector<TextPiece> pieces;  // by their ids
  PieceModel model = PieceModel::kUnigram;
  bool has_byte_fallback = false;
  bool adds_dummy_prefix = true, removes_extra_spaces = true;
  std::string character_map;  // precompiled_charsmap: how texts are normalized
};

// Fails: kCorrupt, naming the piece: no such message, a limit above, and what SentencePiece itself
// refuses (an empty text, one that comes twice, other than one unknown piece, byte pieces that are
// no "<0x0A>" or not all 256); kUnsupported: a kind of model beyond those above.
Result<SentencePieceModel> read_sentencepiece(std::string_view file);

}  // namespace ckpt
