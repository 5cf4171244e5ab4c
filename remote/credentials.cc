#include "remote/credentials.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/base/find.h"
#include "core/base/lines.h"
#include "core/base/words.h"
#include "core/io/bytes.h"
#include "core/io/paths.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFileBytes = 1 << 20;

// The value of the first variable that is set and not empty.
std::string first_of(std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    std::string value = environment(name);
    if (!value.empty()) return value;
  }
  return {};
}

// Returns "" if the file does not exist.
Result<std::string> text_of_file(const fs::path& path) {
  CKPT_ASSIGN(const bool exists, is_there(path, Links::kFollow));
  if (!exists) return std::string();
  CKPT_ASSIGN(const SharedSource file, open_file(path, ReadAs::kOwn));
  return read_text(*file, kMaxFileBytes);
}

// Requires that a value can be put into a header.
Status check_secret(std::string_view value, std::string_view from) {
  const bool is_fine = std::ranges::all_of(
      value, [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x7f; });
  if (is_fine) return {};
  return misuse("{}: holds a space or control character; expected a single word", from);
}

std::string hub_home() {
  const std::string said = environment("HF_HOME");
  if (!said.empty()) return said;
  const std::string cache = cache_home();
  return cache.empty() ? "" : cache + "/huggingface";
}

bool is_yes(const std::string& value) {
  return !value.empty() && has_word(" 1 ON YES TRUE ", upper_case(value));
}

Result<std::string> hub_token() {
  if (is_yes(environment("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return std::string();
  const std::string said = first_of({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  std::string from = "HF_TOKEN", token(trimmed(said));
  if (token.empty()) {
    from = environment("HF_TOKEN_PATH");
    if (from.empty() && !hub_home().empty()) from = hub_home() + "/token";
    if (from.empty()) return std::string();
    CKPT_ASSIGN(const std::string text, text_of_file(from));
    token = trimmed(text);
  }
  CKPT_TRY(check_secret(token, from));
  return token;
}

std::string profile_from_environment() { return first_of({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}); }

using Section = std::map<std::string, std::string>;

// Whether the title is the profile's: "[default]", "[NAME]" in credentials or "[profile NAME]" in
// config.
bool is_title_of(std::string_view title, std::string_view profile, bool is_config) {
  constexpr std::string_view kProfile = "profile ";
  const bool names_profile = is_config && title.starts_with(kProfile);
  if (!names_profile) return title == profile && (!is_config || profile == "default");
  const std::string_view name = trimmed(title.substr(kProfile.size()));
  return name == profile || name == fmt::format("\"{}\"", profile) ||
         name == fmt::format("'{}'", profile);
}

// The lines "name = value" or "name: value" of the profile, as Python's configparser reads them:
// lines that are indented more than the preceding name belong to its value.
Section section_of(std::string_view text, std::string_view profile, bool is_config) {
  Section out;
  bool is_inside = false;
  size_t name_indent = std::string_view::npos;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::string_view words = trimmed(line);
    if (words.empty() || words[0] == '#' || words[0] == ';') continue;
    const size_t indent = line.find_first_not_of(" \t");
    if (indent > name_indent) continue;
    if (words[0] == '[') {
      is_inside = is_title_of(trimmed(words.substr(1, words.find(']') - 1)), profile, is_config);
      name_indent = std::string_view::npos;
      continue;
    }
    const size_t end = words.find_first_of("=:");
    if (end == words.npos) continue;
    name_indent = indent;
    if (!is_inside) continue;
    out.emplace(lower_case(trimmed(words.substr(0, end))), trimmed(words.substr(end + 1)));
  }
  return out;
}

Result<Section> aws_profile(const std::string& name) {
  const std::string folder = environment("HOME") + "/.aws/";
  std::string keys = environment("AWS_SHARED_CREDENTIALS_FILE");
  std::string config = environment("AWS_CONFIG_FILE");
  if (keys.empty()) keys = folder + "credentials";
  if (config.empty()) config = folder + "config";
  CKPT_ASSIGN(const std::string keys_text, text_of_file(keys));
  CKPT_ASSIGN(const std::string config_text, text_of_file(config));
  Section out = section_of(keys_text, name, false);
  out.merge(section_of(config_text, name, true));
  if (out.empty() && !profile_from_environment().empty()) {
    return misuse("AWS_PROFILE: '{}' is not in {} and {}", name, keys, config);
  }
  return out;
}

void take(std::string& value, const Section& profile, const char* key) {
  const std::string* const found = find_mapped(profile, key);
  if (value.empty() && found != nullptr) value = *found;
}

Status check_profile(const Section& profile, const std::string& name) {
  for (const char* const key :
       {"credential_process", "sso_session", "sso_start_url", "role_arn", "source_profile"}) {
    if (!profile.contains(key)) continue;
    return misuse_hint("eval \"$(aws configure export-credentials --format env)\"",
                       "AWS profile '{}': gets its keys by {}; expected aws_access_key_id", name,
                       key);
  }
  return {};
}

}  // namespace

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

HttpHeaders HubAccess::credentials() const {
  if (token.empty()) return {};
  return {{"Authorization", "Bearer " + token}};
}

Result<HubAccess> hub_access() {
  for (const char* const name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (!is_yes(environment(name))) continue;
    return misuse_hint("the model's folder in " + hub_cache_folder() + ", or without it",
                       "{} is set, so the hub is not asked", name);
  }
  std::string endpoint = environment("HF_ENDPOINT");
  if (endpoint.empty()) endpoint = "https://huggingface.co";
  HubAccess out;
  CKPT_ASSIGN(out.endpoint, in("HF_ENDPOINT", parse_url(endpoint)));
  while (out.endpoint.path.ends_with('/')) out.endpoint.path.pop_back();
  CKPT_ASSIGN(out.token, hub_token());
  return out;
}

std::string cache_home() {
  const std::string said = environment("XDG_CACHE_HOME");
  if (!said.empty()) return said;
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.cache";
}

std::string hub_cache_folder() {
  const std::string said = first_of({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  if (!said.empty()) return said;
  return hub_home().empty() ? "" : hub_home() + "/hub";
}

Result<S3Access> s3_access() {
  std::string name = profile_from_environment();
  if (name.empty()) name = "default";
  CKPT_ASSIGN(const Section profile, aws_profile(name));
  S3Access out;
  out.keys = {environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
              environment("AWS_SESSION_TOKEN")};
  out.region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  out.endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (out.keys.access_key.empty()) {  // a session token belongs to its keys
    out.keys = {};
    take(out.keys.access_key, profile, "aws_access_key_id");
    take(out.keys.secret_key, profile, "aws_secret_access_key");
    take(out.keys.session_token, profile, "aws_session_token");
    if (out.keys.access_key.empty()) CKPT_TRY(check_profile(profile, name));
  }
  take(out.region, profile, "region");
  take(out.endpoint, profile, "endpoint_url");
  if (out.endpoint.empty() && profile.contains("services")) {
    return misuse_hint("AWS_ENDPOINT_URL_S3 with the address that it names",
                       "AWS profile '{}': services, which ckpt does not read", name);
  }
  if (out.region.empty()) out.region = "us-east-1";
  for (const std::string& secret :
       {out.keys.access_key, out.keys.secret_key, out.keys.session_token, out.region}) {
    CKPT_TRY(check_secret(secret, "AWS credentials"));
  }
  if (out.keys.access_key.empty() != out.keys.secret_key.empty()) {
    return misuse(
        "AWS credentials: only one of aws_access_key_id and aws_secret_access_key is set");
  }
  return out;
}

}  // namespace ckpt
