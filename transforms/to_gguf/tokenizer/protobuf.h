// Fields of a protocol buffer message, read without trust.
//
//   message   (key, value) (key, value) ...      key = number << 3 | wire type
//   wire type 0: varint    1: 8 bytes    2: length as a varint, bytes    5: 4 bytes
//
// Source: protobuf.dev/programming-guides/encoding. A varint has ten bytes at most; groups (wire
// types 3 and 4) are not read, no file of interest has them.
#pragma once

#include <cstdint>

#include "core/io/cursor.h"

namespace ckpt {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct ProtoField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // the number or its bits; of kBytes: how many follow, all there
};

// One message, from where `cursor` stands. Bytes of a field are left to the caller, who takes or
// skips them before the next field.
class ProtoMessage {
 public:
  // Requires: `size_bytes` are left.
  ProtoMessage(Cursor& cursor, uint64_t size_bytes)
      : cursor_(cursor), end_(cursor.position_bytes() + size_bytes) {}

  bool has_more() const { return cursor_.position_bytes() < end_; }
  // Fails: kCorrupt: cut short, a wire type that is not known, a length beyond the message.
  Result<ProtoField> next();

 private:
  Result<uint64_t> varint();
  Status expect_bytes(uint64_t count) const;

  Cursor& cursor_;
  uint64_t end_;
};

}  // namespace ckpt
