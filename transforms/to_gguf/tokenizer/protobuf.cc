#include "transforms/to_gguf/tokenizer/protobuf.h"

namespace ckpt {
namespace {

constexpr int kMaxVarintBytes = 10;
constexpr uint64_t kMaxFieldNumber = (1u << 29) - 1;

}  // namespace

Status ProtoMessage::expect_bytes(uint64_t count) const {
  const uint64_t left = end_ - cursor_.position_bytes();
  if (count <= left) return {};
  return fail(ErrorCode::kCorrupt, "at byte {}: {} bytes are left of the message; expected {}",
              cursor_.position_bytes(), left, count);
}

Result<uint64_t> ProtoMessage::varint() {
  const uint64_t start = cursor_.position_bytes();
  uint64_t out = 0;
  for (int i = 0; i < kMaxVarintBytes; ++i) {
    CKPT_TRY(expect_bytes(1));
    CKPT_ASSIGN(const uint8_t byte, cursor_.u8());
    out |= static_cast<uint64_t>(byte & 0x7F) << (7 * i);
    if (byte < 0x80) return out;
  }
  return fail(ErrorCode::kCorrupt, "at byte {}: a number of more than {} bytes", start,
              kMaxVarintBytes);
}

Result<ProtoField> ProtoMessage::next() {
  const uint64_t start = cursor_.position_bytes();
  CKPT_ASSIGN(const uint64_t key, varint());
  const uint64_t number = key >> 3;
  if (number == 0 || number > kMaxFieldNumber) {
    return fail(ErrorCode::kCorrupt, "at byte {}: field number {}; expected 1 to {}", start, number,
                kMaxFieldNumber);
  }
  ProtoField field{static_cast<uint32_t>(number), static_cast<WireType>(key & 7)};
  switch (field.type) {
    case WireType::kVarint: {
      CKPT_ASSIGN(field.value, varint());
      return field;
    }
    case WireType::kFixed64: {
      CKPT_TRY(expect_bytes(8));
      CKPT_ASSIGN(field.value, cursor_.u64());
      return field;
    }
    case WireType::kBytes: {
      CKPT_ASSIGN(field.value, varint());
      CKPT_TRY(expect_bytes(field.value));
      return field;
    }
    case WireType::kFixed32: {
      CKPT_TRY(expect_bytes(4));
      CKPT_ASSIGN(field.value, cursor_.u32());
      return field;
    }
  }
  return fail(ErrorCode::kCorrupt, "at byte {}: field {} has wire type {}; expected 0, 1, 2 or 5",
              start, number, key & 7);
}

}  // namespace ckpt
