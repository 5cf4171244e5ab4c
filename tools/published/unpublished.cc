#include "tools/published/unpublished.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "core/base/counted.h"
#include "core/base/glob.h"
#include "core/base/hex.h"
#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/bytes.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kMaxSearchedBytes = 1 << 20;
constexpr size_t kShownUnserved = 8;

// Globs of secret file names, compared without case.
const GlobList& secret_names() {
  static const GlobList names(split_words<std::string>(
      ".env .env.* *.env *.pem *.key *.p12 *.pfx *.jks *.keystore id_rsa id_dsa id_ecdsa "
      "id_ed25519 .netrc _netrc .pypirc .npmrc .htpasswd .pgpass .git-credentials .hf_token "
      "hf_token hf_token.* credentials credentials.json .s3cfg .boto kaggle.json .envrc *.ppk "
      "*.kdbx id_*_sk id_rsa.bak .dockercfg .vault-token secrets.json secrets.y*ml secrets.toml "
      "client_secret*.json *_credentials.json"));
  return names;
}
// Templates (.env.example) hold no secret values.
const GlobList& templates_of_secrets() {
  static const GlobList names(
      split_words<std::string>(".env.example .env.sample .env.template .env.dist"));
  return names;
}
// Globs of paths where huggingface_hub, ssh, gpg and cloud programs keep secrets.
const GlobList& secret_paths() {
  static const GlobList paths(split_words<std::string>(
      "*huggingface/token *huggingface/stored_tokens .ssh/* */.ssh/* .aws/* */.aws/* .gnupg/* "
      "*/.gnupg/* .kube/* */.kube/* .azure/* */.azure/* *.docker/config.json *.config/gcloud/* "
      "*.config/gh/*"));
  return paths;
}

// Globs for "/" and a path: files of torch, transformers' Trainer, accelerate, DeepSpeed, FSDP,
// Megatron, editors and operating systems that no server reads.
const GlobList& unserved_paths() {
  static const GlobList paths(split_words<std::string>(
      "*/optimizer.pt */optimizer.bin */optimizer*.pt */optim*.pt */optimizer_*/* "
      "*_optim_states.pt *_model_states.pt */optimizer.safetensors */scheduler.pt */scheduler.bin "
      "*/scaler.pt */sampler.bin */rng_state*.pth */random_states_*.pkl */trainer_state.json "
      "*/training_args.bin */global_step*/* */pytorch_model_fsdp_*/* */zero_to_fp32.py "
      "*/events.out.tfevents.* */wandb/* */__pycache__/* *.pyc */.ipynb_checkpoints/* */.DS_Store "
      "*/._* */Thumbs.db */desktop.ini *.bak *.orig *~ *.swp */.idea/* */.vscode/*"));
  return paths;
}

bool is_base64(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/' || c == '=';
}

// Whether text holds a private key. Text that only mentions keys has no body between the lines.
bool holds_private_key(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "PRIVATE KEY";
  constexpr size_t kMaxKindBytes = 32, kMinBodyBytes = 40, kMaxKeyTextBytes = 16384;
  for (size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) {
    const std::string_view rest = text.substr(at + kBegin.size(), kMaxKeyTextBytes);
    const size_t kind = rest.find(kEnd);
    if (kind == rest.npos || kind > kMaxKindBytes) continue;
    size_t run = 0;
    for (const char c : rest.substr(kind + kEnd.size())) {
      run = is_base64(c) ? run + 1 : 0;
      if (run == kMinBodyBytes) return true;
    }
  }
  return false;
}

// A kind of access token: `begin`, not within a word, then `size` letters and digits.
struct TokenKind {
  std::string_view begin;
  ptrdiff_t size;
  bool may_go_on;  // may be longer, or continue after '_'
  const char* what;
};
constexpr const char* kOfHub = "holds an access token of the Hugging Face hub";
constexpr const char* kOfGitHub = "holds an access token of GitHub";
constexpr const char* kOfAws = "holds an access key of AWS";
constexpr TokenKind kTokenKinds[] = {
    {"hf_", 34, false, kOfHub},    {"api_org_", 34, false, kOfHub},
    {"ghp_", 36, true, kOfGitHub}, {"gho_", 36, true, kOfGitHub},
    {"ghu_", 36, true, kOfGitHub}, {"ghs_", 36, true, kOfGitHub},
    {"ghr_", 36, true, kOfGitHub}, {"github_pat_", 22, true, kOfGitHub},
    {"AKIA", 16, false, kOfAws},   {"ASIA", 16, false, kOfAws},
};

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Whether `text` ends in a word. An escape of JSON or of a URL ("\n", "\u003d", "%3D") is one
// character and not a word.
bool ends_in_word(std::string_view text) {
  if (text.empty() || (!is_letter(text.back()) && text.back() != '_')) return false;
  const auto is_escaped = [&](std::string_view sign, size_t digits) {
    const size_t size = sign.size() + digits;
    const std::string_view end = text.substr(text.size() - std::min(text.size(), size));
    return end.size() == size && end.starts_with(sign) &&
           is_hex(lower_case(end.substr(sign.size())));
  };
  const bool is_short = text.size() > 1 && text[text.size() - 2] == '\\';
  return !is_short && !is_escaped("\\x", 2) && !is_escaped("\\u", 4) && !is_escaped("%", 2);
}

bool holds_token(std::string_view text, const TokenKind& kind) {
  for (size_t at = text.find(kind.begin); at != text.npos; at = text.find(kind.begin, at + 1)) {
    if (ends_in_word(text.substr(0, at))) continue;
    const std::string_view token = text.substr(at + kind.begin.size());
    const auto end = std::ranges::find_if_not(token, is_letter);
    const ptrdiff_t size = end - token.begin();
    const bool is_whole = size == kind.size && (end == token.end() || *end != '_');
    if (is_whole || (kind.may_go_on && size >= kind.size)) return true;
  }
  return false;
}

Failure secret(std::string_view place, const char* what, std::string hint) {
  return misuse_hint(std::move(hint), "{}: {}; what is published cannot be taken back", place,
                     what);
}

// Describes the secret in the text ("holds a private key"), or nullptr if it holds no secret.
const char* secret_in(std::string_view text) {
  if (holds_private_key(text)) return "holds a private key";
  for (const TokenKind& kind : kTokenKinds) {
    if (holds_token(text, kind)) return kind.what;
  }
  return nullptr;
}

bool is_unserved(const FolderEntry& entry) {
  return unserved_paths().matches_any("/" + entry.path);
}

}  // namespace

Status refuse_secret(const fs::path& folder, const FolderEntry& entry) {
  const fs::path path = folder / entry.path;
  const std::string hint = fmt::format("mv {} somewhere else", shell_path(path.string()));
  const std::string name = lower_case(path.filename().string());
  const bool is_template = templates_of_secrets().matches_any(name);
  if (!is_template &&
      (secret_names().matches_any(name) || secret_paths().matches_any(lower_case(entry.path)))) {
    return secret(path.string(), "a file of this name holds keys, passwords or tokens", hint);
  }
  if (entry.size_bytes > kMaxSearchedBytes) return {};
  CKPT_ASSIGN(const SharedSource source, open_file(path));
  CKPT_ASSIGN(std::string text, read_text(*source, kMaxSearchedBytes));
  std::erase(text, '\0');  // makes ASCII of UTF-16 searchable
  const char* const what = secret_in(text);
  return what == nullptr ? Status() : secret(path.string(), what, hint);
}

Status refuse_secret_text(std::string_view place, std::string_view text) {
  const char* const what = secret_in(text);
  return what == nullptr ? Status() : secret(place, what, "it without the secret");
}

void note_unserved(const fs::path& folder, const std::vector<FolderEntry>& entries,
                   const Console& console) {
  uint64_t size_bytes = 0;
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) {
    if (!is_unserved(entry)) continue;
    size_bytes += entry.size_bytes;
    names.push_back(entry.path);
  }
  if (names.empty()) return;
  console.warn("{}: {}, {}, that no server reads: {}", folder.string(),
               counted(names.size(), "file"), human_bytes(size_bytes),
               first_names(names, kShownUnserved));
}

}  // namespace ckpt
