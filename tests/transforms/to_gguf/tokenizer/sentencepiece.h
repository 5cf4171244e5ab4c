// Writes SentencePiece models for tests, field by field, so that each can be wrong.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

namespace ckpt::sentencepiece_test {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string key(uint32_t field, uint32_t wire_type) {
  return varint(uint64_t{field} << 3 | wire_type);
}
inline std::string number(uint32_t field, uint64_t value) { return key(field, 0) + varint(value); }
inline std::string bytes(uint32_t field, std::string_view value) {
  return key(field, 2) + varint(value.size()) + std::string(value);
}
inline std::string score(float value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return key(2, 5) + out;
}
// A piece of ModelProto; type 0: none is written.
inline std::string piece(std::string_view text, float value, uint64_t type = 0) {
  return bytes(1, bytes(1, text) + score(value) + (type == 0 ? "" : number(3, type)));
}
// Trainer: BPE.
inline std::string bpe() { return bytes(2, number(3, 2)); }
// <unk>, <s>, two letters and one user-defined piece.
inline std::string small_model() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("a", -1) + piece("\xe2\x96\x81", -2.5f) +
         piece("<x>", 0, 4) + bpe();
}

}  // namespace ckpt::sentencepiece_test
