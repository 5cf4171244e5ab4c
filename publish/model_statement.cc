// The statement in a model signature: an in-toto statement whose predicate lists the files.
//
//   {"_type": ".../Statement/v1",
//    "subject": [{"name": MODEL, "digest": {"sha256": ROOT}}],
//    "predicateType": "https://model_signing/signature/v1.0",
//    "predicate": {"serialization": {"method": "files", "hash_type": "sha256",
//                                    "allow_symlinks": false, "ignore_paths": [...]},
//                  "resources": [{"name", "algorithm": "sha256", "digest": hex}, ...]}}
//
//   ROOT = SHA-256 over the raw digests of the resources, in their order.
//
// Sources: ossf/model-signing-spec spec/v1.0.md; sigstore/model-transparency
// src/model_signing/_signing/signing.py. The JSON is not canonical; its exact bytes are signed. Any
// order of resources is valid if ROOT follows it.
#include <algorithm>
#include <set>

#include "core/base/hex.h"
#include "core/base/sha256.h"
#include "core/io/folder.h"
#include "core/json/json_read.h"
#include "publish/publish.h"

namespace ckpt {
namespace {

constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
constexpr std::string_view kPredicateType = "https://model_signing/signature/v1.0";

// Returns nullopt if a digest is not a SHA-256.
std::optional<std::string> root_digest(const std::vector<FileDigest>& files) {
  Sha256 root;
  for (const FileDigest& file : files) {
    const auto bytes = bytes_of_hex(file.sha256);
    if (!bytes || bytes->size() != 32) return std::nullopt;
    root.add(*bytes);
  }
  return root.finish();
}

// Whether the path is relative, stays inside and has only one spelling.
bool is_plain_path(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/') return false;
  while (!name.empty()) {
    const size_t end = std::min(name.find('/'), name.size());
    const std::string_view step = name.substr(0, end);
    if (step.empty() || step == "." || step == "..") return false;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return true;
}

Status expect(const JsonValue& object, std::string_view key, std::string_view value) {
  const std::string* found = text_of(object, key);
  if (found != nullptr && *found == value) return {};
  return unsupported("{} '{}'; expected '{}'", key, found == nullptr ? "none" : *found, value);
}

Result<std::vector<FileDigest>> parse_resources(const JsonValue& predicate) {
  const JsonValue* resources = known(predicate, "resources");
  if (resources == nullptr || !resources->is_array()) return corrupt("no list of resources");
  std::vector<FileDigest> files;
  std::set<std::string> names;
  for (const JsonValue& resource : *resources) {
    CKPT_TRY(expect(resource, "algorithm", "sha256"));
    const std::string* name = text_of(resource, "name");
    const std::string* digest = text_of(resource, "digest");
    if (name == nullptr || !is_plain_path(*name)) return corrupt("a resource without a sound name");
    if (digest == nullptr) return corrupt("{}: no digest", *name);
    if (!names.insert(*name).second) return corrupt("{}: listed twice", *name);
    files.push_back({*name, *digest, 0});
  }
  if (files.empty()) return corrupt("resources is empty; expected at least one file");
  return files;
}

Result<std::optional<std::vector<std::string>>> parse_ignored(const JsonValue& serialization) {
  const JsonValue* ignored = known(serialization, "ignore_paths");
  if (ignored == nullptr) return std::nullopt;
  std::vector<std::string> out;
  if (!ignored->is_array()) return corrupt("ignore_paths is not a list");
  for (const JsonValue& path : *ignored) {
    const auto* text = path.get_ptr<const std::string*>();
    // An entry that ignores everything, or leaves the folder, would make any folder pass.
    if (text == nullptr || !is_plain_path(*text)) {
      return corrupt("ignore_paths holds an entry that is not a path inside the model");
    }
    out.push_back(*text);
  }
  return out;
}

// Returns the name and digest of the only subject.
Result<std::pair<std::string, std::string>> parse_subject(const JsonValue& statement) {
  const JsonValue* subjects = known(statement, "subject");
  if (subjects == nullptr || !subjects->is_array() || subjects->size() != 1) {
    return corrupt("subjects; expected one");
  }
  const JsonValue& subject = (*subjects)[0];
  const std::string* digest = text_of(known(subject, "digest"), "sha256");
  const std::string* name = text_of(subject, "name");
  if (digest == nullptr || name == nullptr) return corrupt("a subject without name or SHA-256");
  return std::pair(*name, *digest);
}

}  // namespace

std::string render_statement(Manifest manifest) {
  using Json = nlohmann::ordered_json;
  std::ranges::sort(manifest.files, {}, &FileDigest::name);
  const auto root = root_digest(manifest.files);
  CKPT_CHECK(root.has_value());
  Json resources = Json::array();
  for (const FileDigest& file : manifest.files) {
    resources.push_back({{"name", file.name}, {"algorithm", "sha256"}, {"digest", file.sha256}});
  }
  Json serialization = {{"method", "files"},
                        {"hash_type", "sha256"},
                        {"allow_symlinks", false},
                        {"ignore_paths", manifest.ignored.value_or(std::vector<std::string>())}};
  const Json statement = {
      {"_type", kStatementType},
      {"subject", Json::array({{{"name", manifest.model}, {"digest", {{"sha256", *root}}}}})},
      {"predicateType", kPredicateType},
      {"predicate",
       {{"serialization", std::move(serialization)}, {"resources", std::move(resources)}}}};
  return statement.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Manifest> parse_statement(std::string_view json) {
  CKPT_ASSIGN(const JsonValue statement, parse_json("statement", json));
  CKPT_TRY(expect(statement, "_type", kStatementType));
  CKPT_TRY(expect(statement, "predicateType", kPredicateType));
  CKPT_ASSIGN(const auto subject, parse_subject(statement));
  const JsonValue* predicate = known(statement, "predicate");
  const JsonValue* serialization = known(predicate, "serialization");
  if (serialization == nullptr) return corrupt("no serialization; expected how files were hashed");
  CKPT_TRY(expect(*serialization, "method", "files"));
  CKPT_TRY(expect(*serialization, "hash_type", "sha256"));
  Manifest manifest;
  manifest.model = subject.first;
  CKPT_ASSIGN(manifest.ignored, parse_ignored(*serialization));
  CKPT_ASSIGN(manifest.files, parse_resources(*predicate));
  const auto paths = manifest.ignored.value_or(std::vector<std::string>());
  const PathSet ignored(paths.begin(), paths.end());
  for (const FileDigest& file : manifest.files) {
    if (!is_ignored(file.name, ignored)) continue;
    return corrupt("{}: both listed and ignored", file.name);
  }
  const auto root = root_digest(manifest.files);
  if (!root) return corrupt("a digest that is not a SHA-256 in lower-case hex");
  if (*root != subject.second) {
    return corrupt("root digest {}; the listed files give {}", subject.second, *root);
  }
  return manifest;
}

}  // namespace ckpt
