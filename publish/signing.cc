// Signs the DSSE encoding of a payload by ECDSA, with keys and certificates read by OpenSSL.
//
//   signed bytes:  "DSSEv1 28 application/vnd.in-toto+json " | payload bytes in decimal | " " |
//   payload
//
//   curve   P-256     P-384     P-521
//   hash    SHA-256   SHA-384   SHA-512
//
// Sources: secure-systems-lab/dsse protocol.md; sigstore/model-transparency
// src/model_signing/_signing/sign_ec_key.py and sign_certificate.py. The key's hint is the hash of
// its PEM as OpenSSL writes it, not of the file that was read.
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "core/base/sha256.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

template <auto release>
struct OpenSslDeleter {
  template <class T>
  void operator()(T* pointer) const {
    release(pointer);
  }
};
using Key = std::unique_ptr<EVP_PKEY, OpenSslDeleter<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, OpenSslDeleter<BIO_free_all>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpenSslDeleter<EVP_MD_CTX_free>>;
using Certificate = std::unique_ptr<X509, OpenSslDeleter<X509_free>>;
using Store = std::unique_ptr<X509_STORE, OpenSslDeleter<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, OpenSslDeleter<X509_STORE_CTX_free>>;
void free_stack(STACK_OF(X509) * stack) { sk_X509_free(stack); }
using Stack = std::unique_ptr<STACK_OF(X509), OpenSslDeleter<free_stack>>;

Memory memory_of(std::string_view text) {
  Memory memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CKPT_CHECK(memory != nullptr);
  return memory;
}

std::string bio_text(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<size_t>(size)};
}

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

// Requires OpenSSL's providers. Its configuration may leave them out; a valid signature would then
// fail to verify, which must not be blamed on it. Fails: kUsage, because the user's environment is
// at fault.
Status require_algorithms() {
  using Hash = std::unique_ptr<EVP_MD, OpenSslDeleter<EVP_MD_free>>;
  using Scheme = std::unique_ptr<EVP_SIGNATURE, OpenSslDeleter<EVP_SIGNATURE_free>>;
  const Hash hash(EVP_MD_fetch(nullptr, "SHA2-256", nullptr));
  const Scheme scheme(EVP_SIGNATURE_fetch(nullptr, "ECDSA", nullptr));
  ERR_clear_error();
  if (hash != nullptr && scheme != nullptr) return {};
  return misuse_hint("OPENSSL_CONF=/dev/null in front of the command",
                     "OpenSSL's configuration loads no provider of {}, without which nothing "
                     "is signed or verified",
                     hash == nullptr ? "SHA-256" : "ECDSA");
}

// OpenSSL calls this for a password instead of asking at the terminal.
int give_password(char* buffer, int size, int, void* user) {
  const auto& password = *static_cast<const std::string*>(user);
  const int length = static_cast<int>(std::min<size_t>(password.size(), static_cast<size_t>(size)));
  std::copy_n(password.data(), length, buffer);
  return length;
}

// The hash for the key's curve. The error names the kind of key.
Result<const EVP_MD*> hash_for(EVP_PKEY* key) {
  const char* type = EVP_PKEY_get0_type_name(key);
  char group[64] = {};
  EVP_PKEY_get_group_name(key, group, sizeof group, nullptr);
  if (EVP_PKEY_get_base_id(key) == EVP_PKEY_EC) {
    const std::string_view name = group;
    if (name == "prime256v1") return EVP_sha256();
    if (name == "secp384r1") return EVP_sha384();
    if (name == "secp521r1") return EVP_sha512();
  }
  return unsupported_hint("openssl ecparam -name prime256v1 -genkey -noout",
                          "a key of type {}{}{}; model signatures take EC keys on P-256, P-384 and "
                          "P-521",
                          type == nullptr ? "unknown" : type, group[0] == 0 ? "" : " on ", group);
}

Result<Key> read_private_key(const Signer& signer) {
  const Memory memory = memory_of(signer.private_key_pem);
  std::string password = signer.password;
  Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, give_password, &password));
  if (key != nullptr) return key;
  const auto holds = [&](std::string_view text) {
    return signer.private_key_pem.find(text) != std::string::npos;
  };
  if (holds("BEGIN PUBLIC KEY-----")) {
    return misuse("a public key; expected the private one that belongs to it");
  }
  if (holds("BEGIN OPENSSH PRIVATE KEY-----")) {
    return misuse_hint("cp KEY release.pem && ssh-keygen -p -m PEM -f release.pem",
                       "a private key as OpenSSH writes it; expected PEM of an EC key");
  }
  if (!holds("ENCRYPTED")) {
    return misuse("no private key in PEM ({})", openssl_reason());
  }
  if (!signer.password.empty()) {
    return misuse("an encrypted private key; the password does not open it");
  }
  return misuse_hint("--password-file FILE, with the password in it",
                     "an encrypted private key; expected its password");
}

std::string public_pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  CKPT_CHECK(memory != nullptr && PEM_write_bio_PUBKEY(memory.get(), key) == 1);
  return bio_text(memory.get());
}

std::string hint_of(EVP_PKEY* key) { return sha256_of(public_pem(key)); }

std::string signed_bytes(std::string_view payload) {
  constexpr std::string_view kType = "application/vnd.in-toto+json";
  return fmt::format("DSSEv1 {} {} {} {}", kType.size(), kType, payload.size(), payload);
}

Status verify_signature(const Bundle& bundle, EVP_PKEY* key) {
  CKPT_ASSIGN(const EVP_MD* hash, hash_for(key));
  const DigestContext context(EVP_MD_CTX_new());
  CKPT_CHECK(context != nullptr);
  const std::string bytes = signed_bytes(bundle.payload);
  const auto* signature = reinterpret_cast<const unsigned char*>(bundle.signature.data());
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, hash, nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), signature, bundle.signature.size(), data, bytes.size()) == 1;
  ERR_clear_error();
  if (good) return {};
  return corrupt("the signature does not fit the key and what it signs");
}

Result<std::string> signature_of(const std::string& bytes, const EVP_MD* hash, EVP_PKEY* key) {
  const DigestContext context(EVP_MD_CTX_new());
  CKPT_CHECK(context != nullptr);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t size = 0;
  std::string out;
  if (EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, data, bytes.size()) == 1) {
    out.resize(size);
    auto* const into = reinterpret_cast<unsigned char*>(out.data());
    if (EVP_DigestSign(context.get(), into, &size, data, bytes.size()) == 1) {
      out.resize(size);
      return out;
    }
  }
  return unsupported("OpenSSL does not sign with this key ({})", openssl_reason());
}

Result<Key> read_public_key(std::string_view pem) {
  const Memory memory = memory_of(pem);
  Key key(PEM_read_bio_PUBKEY(memory.get(), nullptr, nullptr, nullptr));
  if (key != nullptr) return key;
  return misuse("no public key in PEM ({})", openssl_reason());
}

Result<std::vector<Certificate>> read_certificates(std::string_view pem) {
  std::vector<Certificate> out;
  const Memory memory = memory_of(pem);
  while (X509* next = PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)) {
    out.emplace_back(next);
  }
  ERR_clear_error();
  if (out.empty()) return misuse("no certificate in PEM");
  return out;
}

Result<std::vector<Certificate>> certificates_of(const Bundle& bundle) {
  std::vector<Certificate> out;
  for (const std::string& der : bundle.certificates) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    Certificate certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
    ERR_clear_error();
    if (certificate == nullptr) {
      return corrupt("certificate {} of the chain cannot be read", out.size());
    }
    out.push_back(std::move(certificate));
  }
  return out;
}

std::string der_of(X509* certificate) {
  unsigned char* data = nullptr;
  const int size = i2d_X509(certificate, &data);
  CKPT_CHECK(size > 0);
  std::string out(reinterpret_cast<char*>(data), static_cast<size_t>(size));
  OPENSSL_free(data);
  return out;
}

std::string subject_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  CKPT_CHECK(memory != nullptr);
  X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  return bio_text(memory.get());
}

bool may_sign(X509* certificate) {
  const uint32_t absent = UINT32_MAX;
  const uint32_t usage = X509_get_key_usage(certificate);
  if (usage != absent && (usage & KU_DIGITAL_SIGNATURE) != 0) return true;
  const uint32_t extended = X509_get_extended_key_usage(certificate);
  return extended != absent && (extended & XKU_CODE_SIGN) != 0;
}

// Requires a chain from `leaf` to a certificate in `trusted`, when the leaf's validity begins.
Status check_chain(const std::vector<Certificate>& chain, const std::vector<Certificate>& trusted,
                   bool trust_any_link) {
  const Store store(X509_STORE_new());
  const Stack others(sk_X509_new_null());
  const StoreContext context(X509_STORE_CTX_new());
  CKPT_CHECK(store != nullptr && others != nullptr && context != nullptr);
  for (const Certificate& certificate : trusted)
    X509_STORE_add_cert(store.get(), certificate.get());
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(others.get(), chain[i].get());
  CKPT_CHECK(X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), others.get()) == 1);
  std::tm valid_from{};
  if (ASN1_TIME_to_tm(X509_get0_notBefore(chain[0].get()), &valid_from) != 1) {
    return corrupt("certificate '{}' does not say since when it is valid",
                   subject_of(chain[0].get()));
  }
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(rules, timegm(&valid_from));
  if (trust_any_link) X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
  const bool good = X509_verify_cert(context.get()) == 1;
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  if (good) return {};
  return corrupt("certificate '{}' is not trusted: {}", subject_of(chain[0].get()),
                 X509_verify_cert_error_string(error));
}

}  // namespace

Result<Bundle> sign(std::string payload, const Signer& signer) {
  CKPT_TRY(require_algorithms());
  CKPT_ASSIGN(const Key key, read_private_key(signer));
  CKPT_ASSIGN(const EVP_MD* hash, hash_for(key.get()));
  Bundle bundle;
  if (signer.certificate_pem.empty()) {
    bundle.key_hint = hint_of(key.get());
  } else {
    CKPT_ASSIGN(const auto certificates, read_certificates(signer.certificate_pem));
    if (EVP_PKEY_eq(X509_get0_pubkey(certificates[0].get()), key.get()) != 1) {
      return misuse("certificate '{}' does not belong to the private key",
                    subject_of(certificates[0].get()));
    }
    if (!may_sign(certificates[0].get())) {
      return misuse(
          "certificate '{}' is not for signing; expected key usage digitalSignature or "
          "extended usage codeSigning",
          subject_of(certificates[0].get()));
    }
    for (const Certificate& one : certificates) bundle.certificates.push_back(der_of(one.get()));
  }
  CKPT_ASSIGN(bundle.signature, signature_of(signed_bytes(payload), hash, key.get()));
  bundle.payload = std::move(payload);
  return bundle;
}

bool is_same_signature(const Bundle& known, const Bundle& made, const Signer& signer) {
  if (known.payload != made.payload || known.key_hint != made.key_hint ||
      known.certificates != made.certificates) {
    return false;
  }
  const auto key = read_private_key(signer);
  return key && verify_signature(known, key->get());
}

Status check_public_key(std::string_view pem) {
  return read_public_key(pem).map([](const Key&) {});
}

Status check_certificates(std::string_view pem) {
  return read_certificates(pem).map([](const std::vector<Certificate>&) {});
}

Status verify_with_key(const Bundle& bundle, std::string_view public_key_pem) {
  CKPT_TRY(require_algorithms());
  if (!bundle.certificates.empty()) {
    return misuse_hint("--ca FILE in place of --public-key",
                       "signed with a certificate; expected a signature by a key");
  }
  CKPT_ASSIGN(const Key key, read_public_key(public_key_pem));
  const std::string hint = hint_of(key.get());
  if (!bundle.key_hint.empty() && bundle.key_hint != hint) {
    return corrupt("signed by key {}; the key given is {}", bundle.key_hint, hint);
  }
  return verify_signature(bundle, key.get());
}

Result<std::string> verify_with_certificates(const Bundle& bundle, const Trust& trust) {
  CKPT_TRY(require_algorithms());
  if (bundle.certificates.empty()) {
    return misuse_hint("--public-key FILE in place of --certificate and --ca",
                       "signed with a key alone; expected a certificate");
  }
  CKPT_ASSIGN(const std::vector<Certificate> chain, certificates_of(bundle));
  if (!trust.certificate_pem.empty()) {
    CKPT_ASSIGN(const auto own, read_certificates(trust.certificate_pem));
    CKPT_TRY(check_chain(chain, own, true));
  }
  if (!trust.authorities_pem.empty()) {
    CKPT_ASSIGN(const auto authorities, read_certificates(trust.authorities_pem));
    CKPT_TRY(check_chain(chain, authorities, false));
  }
  if (!may_sign(chain[0].get())) {
    return corrupt("certificate '{}' is not for signing", subject_of(chain[0].get()));
  }
  CKPT_TRY(verify_signature(bundle, X509_get0_pubkey(chain[0].get())));
  return subject_of(chain[0].get());
}

}  // namespace ckpt
