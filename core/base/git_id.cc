// Uses OpenSSL 3's interface that is not deprecated, which looks up the algorithm in its providers.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/base/git_id.h"

#include <openssl/sha.h>

#include "core/base/hex.h"
#include "core/base/result.h"

namespace ckpt {

struct GitId::State {
  SHA_CTX context;
};

GitId::GitId(uint64_t size_bytes) : state_(std::make_unique<State>()) {
  const std::string head = fmt::format("blob {}", size_bytes);
  CKPT_CHECK(SHA1_Init(&state_->context) == 1);
  CKPT_CHECK(SHA1_Update(&state_->context, head.c_str(), head.size() + 1) == 1);
}
GitId::~GitId() = default;

void GitId::add(std::span<const std::byte> bytes) {
  CKPT_CHECK(SHA1_Update(&state_->context, bytes.data(), bytes.size()) == 1);
}

std::string GitId::finish() {
  unsigned char digest[SHA_DIGEST_LENGTH];
  CKPT_CHECK(SHA1_Final(digest, &state_->context) == 1);
  return hex_of(std::as_bytes(std::span(digest)));
}

std::string git_id_of(std::string_view bytes) {
  GitId id(bytes.size());
  id.add(std::as_bytes(std::span(bytes)));
  return id.finish();
}

}  // namespace ckpt
