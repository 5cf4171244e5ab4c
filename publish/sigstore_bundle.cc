// Reads and writes a sigstore bundle, the content of model.sig:
//
//   {"mediaType": ..., "verificationMaterial": {"publicKey": {"hint"} |
//                                               "x509CertificateChain": {"certificates": [...]},
//                                               "tlogEntries": []},
//    "dsseEnvelope": {"payload": base64, "payloadType": ..., "signatures": [{"sig": base64}]}}
//
// Sources: sigstore/protobuf-specs protos/sigstore_bundle.proto; ossf/model-signing-spec
// spec/v1.0.md. The reference rejects a bundle with any unknown key, so none may be added.
#include <openssl/evp.h>

#include "core/json/json_read.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

constexpr std::string_view kMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json";
constexpr std::string_view kPayloadType = "application/vnd.in-toto+json";
constexpr size_t kMaxCertificates = 64;

Failure wrong_bundle(std::string_view what) { return corrupt("no model signature: {}", what); }

Result<std::string> decoded(const JsonValue& object, std::string_view key) {
  const std::string* text = text_of(object, key);
  const auto bytes = text == nullptr ? std::nullopt : from_base64(*text);
  if (!bytes) return corrupt("{}: expected base64", key);
  return *bytes;
}

Status parse_material(const JsonValue& material, Bundle& bundle) {
  if (const JsonValue* key = known(material, "publicKey")) {
    const std::string* hint = text_of(*key, "hint");
    if (hint != nullptr) bundle.key_hint = *hint;
    return {};
  }
  const JsonValue* certificates = known(known(material, "x509CertificateChain"), "certificates");
  if (certificates == nullptr || !certificates->is_array() || certificates->empty()) {
    return unsupported(
        "a bundle without public key or certificate chain; those two kinds are verified");
  }
  if (certificates->size() > kMaxCertificates) {
    return unsupported("{} certificates; at most {} are read", certificates->size(),
                       kMaxCertificates);
  }
  for (const JsonValue& certificate : *certificates) {
    CKPT_ASSIGN(bundle.certificates.emplace_back(), decoded(certificate, "rawBytes"));
  }
  return {};
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (text.size() % 4 != 0 || text.size() > (size_t{1} << 30)) return std::nullopt;
  if (digits.find_first_not_of(kAlphabet) != digits.npos) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

std::string render_bundle(const Bundle& bundle) {
  using Json = nlohmann::ordered_json;
  Json material = Json::object();
  if (bundle.certificates.empty()) {
    material["publicKey"] = {{"hint", bundle.key_hint}};
  } else {
    Json certificates = Json::array();
    for (const std::string& der : bundle.certificates) {
      certificates.push_back({{"rawBytes", base64(der)}});
    }
    material["x509CertificateChain"] = {{"certificates", std::move(certificates)}};
  }
  material["tlogEntries"] = Json::array();
  const Json out = {
      {"mediaType", kMediaType},
      {"verificationMaterial", std::move(material)},
      {"dsseEnvelope",
       {{"payload", base64(bundle.payload)},
        {"payloadType", kPayloadType},
        {"signatures", Json::array({{{"sig", base64(bundle.signature)}, {"keyid", ""}}})}}}};
  return out.dump() + "\n";
}

Result<Bundle> parse_bundle(std::string_view json) {
  CKPT_ASSIGN(const JsonValue root, parse_json("bundle", json));
  const std::string* media_type = text_of(root, "mediaType");
  if (media_type == nullptr || *media_type != kMediaType) {
    return corrupt("media type '{}'; expected '{}'", media_type == nullptr ? "none" : *media_type,
                   kMediaType);
  }
  const JsonValue* material = known(root, "verificationMaterial");
  const JsonValue* envelope = known(root, "dsseEnvelope");
  if (material == nullptr || envelope == nullptr) {
    return wrong_bundle("verificationMaterial and dsseEnvelope are expected");
  }
  const std::string* type = text_of(*envelope, "payloadType");
  if (type == nullptr || *type != kPayloadType) return wrong_bundle("payloadType is not in-toto's");
  const JsonValue* signatures = known(*envelope, "signatures");
  if (signatures == nullptr || !signatures->is_array() || signatures->size() != 1) {
    return wrong_bundle("expected one signature");
  }
  Bundle bundle;
  CKPT_TRY(parse_material(*material, bundle));
  CKPT_ASSIGN(bundle.payload, decoded(*envelope, "payload"));
  CKPT_ASSIGN(bundle.signature, decoded((*signatures)[0], "sig"));
  return bundle;
}

}  // namespace ckpt
