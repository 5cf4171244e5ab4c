// The interface of OpenSSL 3 that is not deprecated cannot export its hash state.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/base/sha256.h"

#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/base/numbers.h"
#include "core/base/result.h"

namespace ckpt {
namespace {

constexpr size_t kStateWords = 8, kWordDigits = 8;

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
  State() { CKPT_CHECK(SHA256_Init(&context) == 1); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::span<const std::byte> bytes) {
  CKPT_CHECK(SHA256_Update(&state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  CKPT_CHECK(SHA256_Final(digest, &state_->context) == 1);
  return hex_of(std::as_bytes(std::span(digest)));
}

Sha256State Sha256::state() const {
  const SHA256_CTX& context = state_->context;
  Sha256State out;
  out.size_bytes = (uint64_t{context.Nh} << 32 | context.Nl) / 8;
  for (const SHA_LONG word : context.h) out.text += fmt::format("{:08x}", word);
  const auto* rest = reinterpret_cast<const std::byte*>(context.data);
  out.text += hex_of({rest, context.num});
  return out;
}

size_t Sha256::open_bytes() const { return state_->context.num; }

std::span<uint32_t, kStateWords> Sha256::chain_for(uint64_t blocks) {
  SHA256_CTX& context = state_->context;
  CKPT_CHECK(context.num == 0);
  const uint64_t bits = (uint64_t{context.Nh} << 32 | context.Nl) + blocks * SHA256_CBLOCK * 8;
  context.Nl = static_cast<SHA_LONG>(bits);
  context.Nh = static_cast<SHA_LONG>(bits >> 32);
  return context.h;
}

std::optional<Sha256> Sha256::from(const Sha256State& state) {
  const uint64_t rest_bytes = state.size_bytes % SHA256_CBLOCK;
  std::string_view text = state.text;
  if (text.size() != kStateWords * kWordDigits + 2 * rest_bytes) return std::nullopt;
  if (state.size_bytes > UINT64_MAX / 8) return std::nullopt;
  Sha256 out;
  SHA256_CTX& context = out.state_->context;
  for (SHA_LONG& word : context.h) {
    const auto value = number_from<SHA_LONG>(text.substr(0, kWordDigits), 16);
    if (!value) return std::nullopt;
    word = *value;
    text.remove_prefix(kWordDigits);
  }
  const uint64_t whole_bits = (state.size_bytes - rest_bytes) * 8;
  context.Nl = static_cast<SHA_LONG>(whole_bits);
  context.Nh = static_cast<SHA_LONG>(whole_bits >> 32);
  const auto rest = bytes_of_hex(text);
  if (!rest) return std::nullopt;
  out.add(*rest);
  return out;
}

std::string sha256_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.finish();
}
std::string sha256_of(std::string_view bytes) { return sha256_of(std::as_bytes(std::span(bytes))); }

}  // namespace ckpt
