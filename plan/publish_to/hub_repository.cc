#include "plan/publish_to/hub_repository.h"

#include <algorithm>
#include <map>

#include "publish/publish.h"

namespace ckpt {
namespace {

using HubJson = nlohmann::ordered_json;

constexpr size_t kMostFilesOfACall = 256;
constexpr uint64_t kMaxHubAnswerBytes = uint64_t{64} << 20;
constexpr std::string_view kLfsJson = "application/vnd.git-lfs+json";

std::string dumped(const HubJson& json) {
  return json.dump(-1, ' ', false, HubJson::error_handler_t::replace);
}

Failure refused_by_hub(const HttpResponse& response) {
  const std::string* const message = response.header("x-error-message");
  const auto json = parse_json("", response.body);
  const std::string* const error = json ? text_of(*json, "error") : nullptr;
  Error out = http_failure(response, message != nullptr ? *message
                                     : error != nullptr ? *error
                                                        : std::string_view())
                  .value();
  const bool is_final = response.status >= 400 && response.status < 500 && response.status != 408 &&
                        response.status != 429;
  out.code = is_final ? ErrorCode::kUsage : ErrorCode::kIo;
  return Failure(std::move(out));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// The parts of an action "upload" of the LFS batch. Fails: kCorrupt.
Result<HubUpload> upload_of(size_t index, const HubFile& file, const JsonValue& actions) {
  HubUpload out{index, {}, 0, "", ""};
  const JsonValue* const action = known(actions, "upload");
  const std::string* const href = action == nullptr ? nullptr : text_of(*action, "href");
  if (href == nullptr) return fail(ErrorCode::kCorrupt, "{}: no place to upload it to", file.path);
  if (const JsonValue* verify = known(actions, "verify")) {
    if (const std::string* url = text_of(*verify, "href")) out.verify = *url;
  }
  const JsonValue* const header = known(*action, "header");
  const std::string* const chunk = header == nullptr ? nullptr : text_of(*header, "chunk_size");
  if (chunk == nullptr) {
    CKPT_ASSIGN(const Url url, parse_url(*href));
    out.parts = {url};
    return out;
  }
  std::map<uint64_t, Url> parts;  // by number
  for (const auto& [key, value] : header->items()) {
    if (!is_number(key) || !value.is_string() || key.size() > 9) continue;
    CKPT_ASSIGN(parts[std::stoul(key)], parse_url(value.get<std::string>()));
  }
  out.finish = *href;
  out.part_bytes = is_number(*chunk) && chunk->size() < 16 ? std::stoull(*chunk) : 0;
  for (const auto& [number, url] : parts) out.parts.push_back(url);
  const uint64_t expected =
      out.part_bytes == 0 ? 0 : (file.size_bytes + out.part_bytes - 1) / out.part_bytes;
  if (out.parts.empty() || out.parts.size() != expected || parts.begin()->first != 1 ||
      parts.rbegin()->first != expected) {
    return fail(ErrorCode::kCorrupt, "{}: the hub gave {} places for {} parts", file.path,
                out.parts.size(), expected);
  }
  return out;
}

}  // namespace

// All calls but the commit may come twice.
Result<JsonValue> HubRepository::post(const std::string& path, const std::string& body,
                                      const std::string& type) const {
  HttpRequest post = hub_request(access_, path);
  post.method = "POST";
  post.max_response_bytes = kMaxHubAnswerBytes;
  post.headers = {{"Content-Type", type}, {"Accept", type}};
  post.body = HttpBody::of(body);
  post.may_repeat = !path.starts_with("/api/models/" + name_ + "/commit/");
  CKPT_ASSIGN(const HttpResponse response, http_send(post));
  if (!response.is_good()) return refused_by_hub(response);
  return parse_json(response.url.shown(), response.body);
}

Result<std::string> HubRepository::head() const {
  return hub_commit(access_, {name_, branch_, ""});
}

Status HubRepository::ask(std::vector<HubFile>& files) const {
  for (size_t from = 0; from < files.size(); from += kMostFilesOfACall) {
    const size_t end = std::min(files.size(), from + kMostFilesOfACall);
    std::map<std::string, HubFile*> by_path;
    HubJson asked = HubJson::array();
    for (size_t i = from; i < end; ++i) {
      by_path[files[i].path] = &files[i];
      asked.push_back({{"path", files[i].path},
                       {"sample", base64(files[i].sample)},
                       {"size", files[i].size_bytes}});
    }
    CKPT_ASSIGN(const JsonValue answer,
                post(fmt::format("/api/models/{}/preupload/{}", name_, percent_encoded(branch_)),
                     dumped({{"files", std::move(asked)}}), "application/json"));
    const JsonValue* const listed = known(answer, "files");
    for (const JsonValue& one : listed == nullptr ? JsonValue::array() : *listed) {
      const std::string* const path = text_of(one, "path");
      const auto file = path == nullptr ? by_path.end() : by_path.find(*path);
      const std::string* const mode = text_of(one, "uploadMode");
      if (file == by_path.end() || mode == nullptr) continue;
      HubFile& known_file = *file->second;
      known_file.is_lfs = *mode == "lfs" && known_file.size_bytes > 0;
      const std::string* const oid = text_of(one, "oid");
      known_file.is_there =
          oid != nullptr && *oid == (known_file.is_lfs ? known_file.sha256 : known_file.git_id);
      by_path.erase(file);
    }
    if (by_path.empty()) continue;
    return fail(ErrorCode::kCorrupt, "{}: the hub did not say how to upload it",
                by_path.begin()->first);
  }
  return {};
}

Result<std::vector<HubUpload>> HubRepository::uploads(const std::vector<HubFile>& files) const {
  std::map<std::string, size_t> wanted;  // by SHA-256: equal files are one object
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].is_lfs && !files[i].is_there) wanted.emplace(files[i].sha256, i);
  }
  std::vector<HubUpload> out;
  for (auto at = wanted.begin(); at != wanted.end();) {
    HubJson objects = HubJson::array();
    for (; at != wanted.end() && objects.size() < kMostFilesOfACall; ++at) {
      objects.push_back({{"oid", at->first}, {"size", files[at->second].size_bytes}});
    }
    CKPT_ASSIGN(const JsonValue answer, post(fmt::format("/{}.git/info/lfs/objects/batch", name_),
                                             dumped({{"operation", "upload"},
                                                     {"transfers", {"basic", "multipart"}},
                                                     {"objects", std::move(objects)},
                                                     {"hash_algo", "sha256"},
                                                     {"ref", {{"name", branch_}}}}),
                                             std::string(kLfsJson)));
    const JsonValue* const listed = known(answer, "objects");
    for (const JsonValue& one : listed == nullptr ? JsonValue::array() : *listed) {
      const std::string* const oid = text_of(one, "oid");
      const auto file = oid == nullptr ? wanted.end() : wanted.find(*oid);
      if (file == wanted.end()) continue;
      if (const JsonValue* error = known(one, "error")) {
        const std::string* const message = text_of(*error, "message");
        return fail(ErrorCode::kUsage, "{}: refused by the hub: {}", files[file->second].path,
                    message == nullptr ? "no reason given" : *message);
      }
      const JsonValue* const actions = known(one, "actions");
      if (actions == nullptr) continue;  // the hub has it
      CKPT_ASSIGN(HubUpload upload, upload_of(file->second, files[file->second], *actions));
      out.push_back(std::move(upload));
    }
  }
  return out;
}

// Signed URLs of a store, which refuses requests that carry the token too.
Result<std::string> HubRepository::put_part(const Url& url, const HttpBody& body) const {
  HttpRequest put;
  put.method = "PUT";
  put.url = url;
  put.body = body;
  put.stall_seconds = 300;
  CKPT_ASSIGN(const HttpResponse response, http_send(put));
  if (!response.is_good()) return refused_by_hub(response);
  const std::string* const etag = response.header("etag");
  return etag == nullptr ? std::string() : *etag;
}

Status HubRepository::finish(const HubUpload& upload, const HubFile& file,
                             const std::vector<std::string>& etags) const {
  const auto send = [&](const std::string& url, const HubJson& body) -> Status {
    HttpRequest post;
    post.method = "POST";
    CKPT_ASSIGN(post.url, parse_url(url));
    post.headers = {{"Content-Type", std::string(kLfsJson)}, {"Accept", std::string(kLfsJson)}};
    const bool is_hub = post.url.is_same_origin(access_.endpoint) && url == upload.verify;
    if (is_hub) post.credentials = access_.credentials();
    post.body = HttpBody::of(dumped(body));
    post.may_repeat = true;
    post.stall_seconds = 300;
    CKPT_ASSIGN(const HttpResponse response, http_send(post));
    return response.is_good() ? Status() : refused_by_hub(response);
  };
  if (!upload.finish.empty()) {
    HubJson parts = HubJson::array();
    for (size_t i = 0; i < etags.size(); ++i) {
      parts.push_back({{"partNumber", i + 1}, {"etag", etags[i]}});
    }
    CKPT_TRY(send(upload.finish, {{"oid", file.sha256}, {"parts", std::move(parts)}}));
  }
  if (upload.verify.empty()) return {};
  return send(upload.verify, {{"oid", file.sha256}, {"size", file.size_bytes}});
}

Result<std::string> HubRepository::commit(const std::string& lines) const {
  CKPT_ASSIGN(const JsonValue answer,
              post(fmt::format("/api/models/{}/commit/{}", name_, percent_encoded(branch_)), lines,
                   "application/x-ndjson"));
  const std::string* const oid = text_of(answer, "commitOid");
  if (oid != nullptr) return *oid;
  return fail(ErrorCode::kCorrupt, "{}: expected the commit as \"commitOid\"", name_);
}

}  // namespace ckpt
