#include "transforms/to_gguf/tokenizer/sentencepiece_model.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/utf8.h"
#include "transforms/to_gguf/tokenizer/added.h"
#include "transforms/to_gguf/tokenizer/byte_fallback.h"
#include "transforms/to_gguf/tokenizer/protobuf.h"

namespace ckpt {
namespace {

constexpr uint64_t kBytePieces = 256;

Status expect_type(const ProtoField& field, WireType type, const char* what) {
  if (field.type == type) return {};
  return fail(ErrorCode::kCorrupt, "{} (field {}) has wire type {}; expected {}", what,
              field.number, static_cast<int>(field.type), static_cast<int>(type));
}

Status skip_field(Cursor& cursor, const ProtoField& field) {
  return field.type == WireType::kBytes ? cursor.skip(field.value) : Status();
}

Result<TextPiece> read_piece(Cursor& cursor, uint64_t size_bytes) {
  TextPiece piece;
  for (ProtoMessage message(cursor, size_bytes); message.has_more();) {
    CKPT_ASSIGN(const ProtoField field, message.next());
    if (field.number == 1) {
      CKPT_TRY(expect_type(field, WireType::kBytes, "its text"));
      if (field.value > kMaxPieceBytes) {
        return fail(ErrorCode::kCorrupt, "a text of {} bytes; at most {}", field.value,
                    kMaxPieceBytes);
      }
      CKPT_ASSIGN(piece.text, cursor.text(field.value));
    } else if (field.number == 2) {
      CKPT_TRY(expect_type(field, WireType::kFixed32, "its score"));
      piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    } else if (field.number == 3) {
      CKPT_TRY(expect_type(field, WireType::kVarint, "its type"));
      if (field.value < 1 || field.value > static_cast<uint64_t>(PieceType::kByte)) {
        return fail(ErrorCode::kCorrupt, "type {}; expected 1 to 6", field.value);
      }
      piece.type = static_cast<PieceType>(field.value);
    } else {
      CKPT_TRY(skip_field(cursor, field));
    }
  }
  return piece;
}

Status read_trainer(Cursor& cursor, uint64_t size_bytes, SentencePieceModel& out) {
  for (ProtoMessage message(cursor, size_bytes); message.has_more();) {
    CKPT_ASSIGN(const ProtoField field, message.next());
    if (field.number == 3) {
      CKPT_TRY(expect_type(field, WireType::kVarint, "model_type"));
      if (field.value < 1 || field.value > static_cast<uint64_t>(PieceModel::kChar)) {
        return fail(ErrorCode::kUnsupported, "model_type {}; expected 1 to 4", field.value);
      }
      out.model = static_cast<PieceModel>(field.value);
    } else if (field.number == 35) {
      CKPT_TRY(expect_type(field, WireType::kVarint, "byte_fallback"));
      out.has_byte_fallback = field.value != 0;
    } else {
      CKPT_TRY(skip_field(cursor, field));
    }
  }
  return {};
}

Status read_normalizer(Cursor& cursor, uint64_t size_bytes, SentencePieceModel& out) {
  for (ProtoMessage message(cursor, size_bytes); message.has_more();) {
    CKPT_ASSIGN(const ProtoField field, message.next());
    if (field.number == 3) {
      CKPT_TRY(expect_type(field, WireType::kVarint, "add_dummy_prefix"));
      out.adds_dummy_prefix = field.value != 0;
    } else {
      CKPT_TRY(skip_field(cursor, field));
    }
  }
  return {};
}

bool is_byte_text(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' &&
         text.substr(3, 2).find_first_not_of("0123456789ABCDEF") == text.npos;
}

// Sorted, not hashed: nobody can choose texts that collide.
Status check_texts_differ(const std::vector<TextPiece>& pieces) {
  std::vector<const TextPiece*> order;
  for (const TextPiece& piece : pieces) order.push_back(&piece);
  std::sort(order.begin(), order.end(), [](const TextPiece* a, const TextPiece* b) {
    return std::tie(a->text, a) < std::tie(b->text, b);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->text != order[i - 1]->text) continue;
    return fail(ErrorCode::kCorrupt, "pieces {} and {} are both '{}'; expected different texts",
                order[i - 1] - pieces.data(), order[i] - pieces.data(), order[i]->text);
  }
  return {};
}

// What SentencePiece refuses to load.
Status check_pieces(const SentencePieceModel& model) {
  uint64_t unknown = 0, bytes = 0;
  for (const TextPiece& piece : model.pieces) {
    const std::string place = fmt::format("piece {}", &piece - model.pieces.data());
    if (piece.text.empty()) {
      return fail(ErrorCode::kCorrupt, "{} has no text", place);
    }
    if (!is_utf8(piece.text)) {
      return fail(ErrorCode::kCorrupt, "{} is not UTF-8", place);
    }
    unknown += piece.type == PieceType::kUnknown ? 1 : 0;
    if (piece.type != PieceType::kByte) continue;
    ++bytes;
    if (!is_byte_text(piece.text)) {
      return fail(ErrorCode::kCorrupt,
                  "{} stands for a byte and is '{}'; expected <0x00> to <0xFF>", place, piece.text);
    }
    if (!model.has_byte_fallback) {
      return fail(ErrorCode::kCorrupt,
                  "{} stands for a byte, but trainer_spec has no byte_fallback", place);
    }
  }
  CKPT_TRY(check_texts_differ(model.pieces));
  if (unknown != 1) {
    return fail(ErrorCode::kCorrupt, "{} pieces for unknown text among {}; expected one", unknown,
                model.pieces.size());
  }
  if (model.has_byte_fallback && bytes != kBytePieces) {
    return fail(ErrorCode::kCorrupt, "byte_fallback, and {} pieces for bytes; expected {}", bytes,
                kBytePieces);
  }
  return {};
}

Status read_field(Cursor& cursor, const ProtoField& field, SentencePieceModel& out) {
  if (field.number > 3) return skip_field(cursor, field);
  constexpr const char* kModelFields[] = {"", "pieces", "trainer_spec", "normalizer_spec"};
  CKPT_TRY(expect_type(field, WireType::kBytes, kModelFields[field.number]));
  if (field.number == 2) return in(kModelFields[2], read_trainer(cursor, field.value, out));
  if (field.number == 3) return in(kModelFields[3], read_normalizer(cursor, field.value, out));
  if (out.pieces.size() >= kMaxPieces) {
    return fail(ErrorCode::kCorrupt, "more than {} pieces", kMaxPieces);
  }
  CKPT_ASSIGN(TextPiece piece,
              in(fmt::format("piece {}", out.pieces.size()), read_piece(cursor, field.value)));
  out.pieces.push_back(std::move(piece));
  return {};
}

}  // namespace

Result<SentencePieceModel> read_sentencepiece(std::string_view file) {
  const auto bytes = std::as_bytes(std::span(file));
  Cursor cursor(make_blob("tokenizer.model", {bytes.begin(), bytes.end()}));
  SentencePieceModel out;
  for (ProtoMessage message(cursor, file.size()); message.has_more();) {
    CKPT_ASSIGN(const ProtoField field, message.next());
    CKPT_TRY(read_field(cursor, field, out));
  }
  CKPT_TRY(check_pieces(out));
  return out;
}

}  // namespace ckpt
