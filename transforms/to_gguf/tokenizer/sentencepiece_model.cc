// Reads tokenizer.model, a protocol buffer of SentencePiece, without trusting its lengths.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <tuple>

#include "core/base/find.h"
#include "core/base/utf8.h"
#include "core/io/cursor.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"

namespace ckpt {
namespace {

// Reads the fields of a protocol buffer message without trusting them.
//
//   message   (key, value) (key, value) ...      key = number << 3 | wire type
//   wire type 0: varint    1: 8 bytes    2: length as a varint, bytes    5: 4 bytes
//
// Source: protobuf.dev/programming-guides/encoding. A varint has at most ten bytes. Groups (wire
// types 3 and 4) are not supported, because no relevant file contains them.

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // the number or its bits; for kBytes: size of the bytes that follow
};

constexpr int kMaxVarintBytes = 10;
constexpr uint64_t kMaxFieldNumber = (1u << 29) - 1;

// One message from the position of `cursor`. The caller reads or skips the bytes of a field before
// the next field.
class ProtoMessage {
 public:
  // Requires: `size_bytes` remain.
  ProtoMessage(Cursor& cursor, uint64_t size_bytes)
      : cursor_(cursor), end_(cursor.position_bytes() + size_bytes) {}

  bool has_more() const { return cursor_.position_bytes() < end_; }

  // Fails: kCorrupt: truncated, an unknown wire type, a length beyond the message.
  Result<ProtoField> next() {
    const uint64_t start = cursor_.position_bytes();
    CKPT_ASSIGN(const uint64_t key, varint());
    const uint64_t number = key >> 3;
    if (number == 0 || number > kMaxFieldNumber) {
      return corrupt("at byte {}: field number {}; expected 1 to {}", start, number,
                     kMaxFieldNumber);
    }
    ProtoField field{static_cast<uint32_t>(number), static_cast<WireType>(key & 7)};
    switch (field.type) {
      case WireType::kVarint: CKPT_SET(field.value, varint()); return field;
      case WireType::kFixed64:
        CKPT_TRY(expect_bytes(8));
        CKPT_SET(field.value, cursor_.u64());
        return field;
      case WireType::kBytes:
        CKPT_SET(field.value, varint());
        CKPT_TRY(expect_bytes(field.value));
        return field;
      case WireType::kFixed32:
        CKPT_TRY(expect_bytes(4));
        CKPT_SET(field.value, cursor_.u32());
        return field;
    }
    return corrupt("at byte {}: field {} has wire type {}; expected 0, 1, 2 or 5", start, number,
                   key & 7);
  }

 private:
  Result<uint64_t> varint() {
    const uint64_t start = cursor_.position_bytes();
    uint64_t out = 0;
    for (int i = 0; i < kMaxVarintBytes; ++i) {
      CKPT_TRY(expect_bytes(1));
      CKPT_ASSIGN(const uint8_t byte, cursor_.u8());
      out |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
      if (byte < 0x80) return out;
    }
    return corrupt("at byte {}: a number of more than {} bytes", start, kMaxVarintBytes);
  }

  Status expect_bytes(uint64_t count) const {
    const uint64_t left = end_ - cursor_.position_bytes();
    if (count <= left) return {};
    return corrupt("at byte {}: {} bytes are left of the message; expected {}",
                   cursor_.position_bytes(), left, count);
  }

  Cursor& cursor_;
  uint64_t end_;
};

struct KnownField {
  uint32_t number;
  WireType type;
  const char* name;
};
constexpr KnownField kModelFields[] = {{1, WireType::kBytes, "pieces"},
                                       {2, WireType::kBytes, "trainer_spec"},
                                       {3, WireType::kBytes, "normalizer_spec"}};
constexpr KnownField kPieceFields[] = {{1, WireType::kBytes, "its text"},
                                       {2, WireType::kFixed32, "its score"},
                                       {3, WireType::kVarint, "its type"}};
constexpr KnownField kTrainerFields[] = {{3, WireType::kVarint, "model_type"},
                                         {35, WireType::kVarint, "byte_fallback"}};
constexpr KnownField kNormalizerFields[] = {{2, WireType::kBytes, "precompiled_charsmap"},
                                            {3, WireType::kVarint, "add_dummy_prefix"},
                                            {4, WireType::kVarint, "remove_extra_whitespaces"}};

// Passes each field in `known` to `take`, which reads its bytes, and skips the others.
template <class Take>
Status read_message(Cursor& cursor, uint64_t size_bytes, std::span<const KnownField> known,
                    Take take) {
  for (ProtoMessage message(cursor, size_bytes); message.has_more();) {
    CKPT_ASSIGN(const ProtoField field, message.next());
    const KnownField* row = find_by(known, &KnownField::number, field.number);
    if (row == nullptr) {
      if (field.type == WireType::kBytes) CKPT_TRY(cursor.skip(field.value));
    } else if (row->type == field.type) {
      CKPT_TRY(take(field));
    } else {
      return corrupt("{} (field {}) has wire type {}; expected {}", row->name, field.number,
                     static_cast<int>(field.type), static_cast<int>(row->type));
    }
  }
  return {};
}

constexpr uint64_t kBytePieces = 256;

Result<TextPiece> read_piece(Cursor& cursor, uint64_t size_bytes) {
  TextPiece piece;
  const auto take = [&](const ProtoField& field) -> Status {
    if (field.number == 1) {
      if (field.value > kMaxPieceBytes) {
        return corrupt("a text of {} bytes; at most {}", field.value, kMaxPieceBytes);
      }
      CKPT_SET(piece.text, cursor.text(field.value));
    } else if (field.number == 2) {
      piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    } else {
      if (field.value < 1 || field.value > static_cast<uint64_t>(PieceType::kByte)) {
        return corrupt("type {}; expected 1 to 6", field.value);
      }
      piece.type = static_cast<PieceType>(field.value);
    }
    return {};
  };
  CKPT_TRY(read_message(cursor, size_bytes, kPieceFields, take));
  return piece;
}

Status read_trainer(Cursor& cursor, uint64_t size_bytes, SentencePieceModel& out) {
  return read_message(cursor, size_bytes, kTrainerFields, [&](const ProtoField& field) -> Status {
    if (field.number == 35) {
      out.has_byte_fallback = field.value != 0;
    } else if (field.value < 1 || field.value > static_cast<uint64_t>(PieceModel::kChar)) {
      return unsupported("model_type {}; expected 1 to 4", field.value);
    } else {
      out.model = static_cast<PieceModel>(field.value);
    }
    return {};
  });
}

Status read_normalizer(Cursor& cursor, uint64_t size_bytes, SentencePieceModel& out) {
  const auto take = [&](const ProtoField& field) -> Status {
    if (field.number == 2) {
      CKPT_SET(out.character_map, cursor.text(field.value));
    } else {
      (field.number == 3 ? out.adds_dummy_prefix : out.removes_extra_spaces) = field.value != 0;
    }
    return {};
  };
  return read_message(cursor, size_bytes, kNormalizerFields, take);
}

bool is_byte_text(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' &&
         text.substr(3, 2).find_first_not_of("0123456789ABCDEF") == text.npos;
}

// Sorts instead of hashing, so that a file cannot cause hash collisions.
Status check_texts_differ(const std::vector<TextPiece>& pieces) {
  std::vector<const TextPiece*> order;
  for (const TextPiece& piece : pieces) order.push_back(&piece);
  std::ranges::sort(order, [](const TextPiece* a, const TextPiece* b) {
    return std::tie(a->text, a) < std::tie(b->text, b);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->text != order[i - 1]->text) continue;
    return corrupt("pieces {} and {} are both '{}'; expected different texts",
                   order[i - 1] - pieces.data(), order[i] - pieces.data(), order[i]->text);
  }
  return {};
}

// Rejects models that SentencePiece does not load.
Status check_pieces(const SentencePieceModel& model) {
  uint64_t unknown = 0, bytes = 0;
  for (const TextPiece& piece : model.pieces) {
    const std::string place = fmt::format("piece {}", &piece - model.pieces.data());
    if (piece.text.empty()) return corrupt("{} has no text", place);
    if (!is_utf8(piece.text)) return corrupt("{} is not UTF-8", place);
    unknown += piece.type == PieceType::kUnknown ? 1 : 0;
    if (piece.type != PieceType::kByte) continue;
    ++bytes;
    if (!is_byte_text(piece.text)) {
      return corrupt("{} stands for a byte and is '{}'; expected <0x00> to <0xFF>", place,
                     piece.text);
    }
    if (!model.has_byte_fallback) {
      return corrupt("{} stands for a byte, but trainer_spec has no byte_fallback", place);
    }
  }
  CKPT_TRY(check_texts_differ(model.pieces));
  if (unknown != 1) {
    return corrupt("{} pieces for unknown text among {}; expected one", unknown,
                   model.pieces.size());
  }
  if (model.has_byte_fallback && bytes != kBytePieces) {
    return corrupt("byte_fallback, and {} pieces for bytes; expected {}", bytes, kBytePieces);
  }
  return {};
}

}  // namespace

Result<SentencePieceModel> read_sentencepiece(std::string_view file) {
  const auto bytes = std::as_bytes(std::span(file));
  Cursor cursor(make_blob("tokenizer.model", {bytes.begin(), bytes.end()}));
  SentencePieceModel out;
  const auto take = [&](const ProtoField& field) -> Status {
    if (field.number == 2) return in("trainer_spec", read_trainer(cursor, field.value, out));
    if (field.number == 3) return in("normalizer_spec", read_normalizer(cursor, field.value, out));
    if (out.pieces.size() >= kMaxPieces) return corrupt("more than {} pieces", kMaxPieces);
    CKPT_ASSIGN(out.pieces.emplace_back(),
                in(fmt::format("piece {}", out.pieces.size()), read_piece(cursor, field.value)));
    return {};
  };
  CKPT_TRY(read_message(cursor, file.size(), kModelFields, take));
  CKPT_TRY(check_pieces(out));
  return out;
}

}  // namespace ckpt
