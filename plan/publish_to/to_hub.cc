// --to hf://ORG/NAME[@BRANCH]: one commit in a repository of a Hugging Face hub.
//
//   list existing files ▸ send large files to the Hub's store ▸ one commit on top of the head
//
// Large files that the store already has are not sent again, so the next run resumes a failed one.
// Files go to the store without Xet:
//
//   preupload ─▶ which are LFS, which exist ─▶ LFS batch ─▶ PUTs ─▶ verify ─▶ one commit
//
// Source: huggingface/huggingface_hub 2.4.0 _commit_api.py, lfs.py.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/git_id.h"
#include "core/base/result.h"
#include "core/engine/compare.h"
#include "core/json/json_read.h"
#include "plan/publish_to/body.h"
#include "publish/publish.h"
#include "remote/remote.h"

namespace ckpt {
namespace {

using HubJson = nlohmann::ordered_json;

struct HubFile {
  std::string path, sha256;
  uint64_t size_bytes = 0;
  std::string sample;       // its first 512 bytes
  std::string git_id = {};  // for a small file: git's id of the content
  bool is_lfs = false, is_there = false;
};

// The URLs for the parts of a large file; without `part_bytes`, one URL for the entire file.
struct HubUpload {
  size_t file = 0;  // index of the file
  std::vector<Url> parts;
  uint64_t part_bytes = 0;
  std::string finish, verify;  // URLs; may be empty
};

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
  out.code = response.is_final() ? ErrorCode::kUsage : ErrorCode::kIo;
  if (response.status == 412) out.hint = "the same command again, on top of the other commit";
  return Failure(std::move(out));
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Parses an action "upload" of the LFS batch. Fails: kCorrupt.
Result<HubUpload> upload_of(const Url& hub, size_t index, const HubFile& file,
                            const JsonValue& actions) {
  HubUpload out{index, {}, 0, "", ""};
  const JsonValue* const action = known(actions, "upload");
  const std::string* const href = text_of(action, "href");
  if (href == nullptr) return corrupt("{}: no place to upload it to", file.path);
  if (const std::string* url = text_of(known(actions, "verify"), "href")) out.verify = *url;
  const JsonValue* const header = known(action, "header");
  const std::string* const chunk = text_of(header, "chunk_size");
  if (chunk == nullptr) {
    CKPT_ASSIGN(const Url url, named_url(hub, *href));
    out.parts = {url};
    return out;
  }
  std::map<uint64_t, Url> parts;  // by number
  for (const auto& [key, value] : header->items()) {
    if (!is_number(key) || !value.is_string() || key.size() > 9) continue;
    CKPT_ASSIGN(parts[std::stoul(key)], named_url(hub, value.get<std::string>()));
  }
  out.finish = *href;
  out.part_bytes = is_number(*chunk) && chunk->size() < 16 ? std::stoull(*chunk) : 0;
  for (const auto& [number, url] : parts) out.parts.push_back(url);
  const uint64_t expected =
      out.part_bytes == 0 ? 0 : (file.size_bytes + out.part_bytes - 1) / out.part_bytes;
  if (out.parts.empty() || out.parts.size() != expected || parts.begin()->first != 1 ||
      parts.rbegin()->first != expected) {
    return corrupt("{}: the hub gave {} places for {} parts", file.path, out.parts.size(),
                   expected);
  }
  return out;
}

// One branch of a model repository. Thread-safe. All functions fail as requests do.
class HubRepository {
 public:
  HubRepository(HubAccess access, std::string name, std::string branch)
      : access_(std::move(access)), name_(std::move(name)), branch_(std::move(branch)) {}

  // The commit at the head of the branch. Fails: kUsage if the repository does not exist.
  Result<std::string> head() const { return hub_commit(access_, {name_, branch_, ""}); }

  // Asks for each file whether it is LFS and whether the branch already has it.
  Status ask(std::vector<HubFile>& files) const {
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
      for (const JsonValue& one : list_in(answer, "files")) {
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
      return corrupt("{}: the hub did not say how to upload it", by_path.begin()->first);
    }
    return {};
  }

  // The uploads for those LFS files that the hub does not have.
  Result<std::vector<HubUpload>> uploads(const std::vector<HubFile>& files) const {
    std::map<std::string, size_t> wanted;  // by SHA-256, because equal files are one object
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
      for (const JsonValue& one : list_in(answer, "objects")) {
        const std::string* const oid = text_of(one, "oid");
        const auto file = oid == nullptr ? wanted.end() : wanted.find(*oid);
        if (file == wanted.end()) continue;
        if (const JsonValue* error = known(one, "error")) {
          const std::string* const message = text_of(*error, "message");
          return misuse("{}: refused by the hub: {}", files[file->second].path,
                        message == nullptr ? "no reason given" : *message);
        }
        const JsonValue* const actions = known(one, "actions");
        if (actions == nullptr) continue;  // the hub has it
        CKPT_ASSIGN(out.emplace_back(),
                    upload_of(access_.endpoint, file->second, files[file->second], *actions));
      }
    }
    return out;
  }

  // Sends to the signed URL of a store, without the token, with which stores reject requests.
  // Returns the ETag.
  Result<std::string> put_part(const Url& url, const HttpBody& body) const {
    HttpRequest put;
    put.method = "PUT";
    put.url = url;
    put.body = body;
    put.stall_seconds = 300;
    CKPT_ASSIGN(const HttpResponse response, http_send(put));
    if (!response.is_good()) return refused_by_hub(response);
    return std::string(response.value("etag"));
  }

  Status finish(const HubUpload& upload, const HubFile& file,
                const std::vector<std::string>& etags) const {
    const auto send = [&](const std::string& url, const HubJson& body) -> Status {
      HttpRequest post;
      post.method = "POST";
      CKPT_ASSIGN(post.url, named_url(access_.endpoint, url));
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

  // Makes a commit with all files on top of `parent` and returns it. Fails: kUsage if the branch
  // has moved.
  Result<std::string> commit(const std::string& lines) const {
    CKPT_ASSIGN(const JsonValue answer,
                post(fmt::format("/api/models/{}/commit/{}", name_, percent_encoded(branch_)),
                     lines, "application/x-ndjson"));
    const std::string* const oid = text_of(answer, "commitOid");
    if (oid != nullptr) return *oid;
    return corrupt("{}: expected the commit as \"commitOid\"", name_);
  }

 private:
  // Sends a call that may be repeated, as all calls except the commit may.
  Result<JsonValue> post(const std::string& path, const std::string& body,
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

  const HubAccess access_;
  const std::string name_, branch_;
};

constexpr uint64_t kSampleBytes = 512;
constexpr uint64_t kMaxSmallBytes = uint64_t{64} << 20;  // limit for a file in the commit itself
constexpr unsigned kHubPartsAtATime = 4;
constexpr int kCommitTries = 3;

// Fails: kUsage; folders in the repository are not accepted.
Result<HubName> parse_hub_target(const std::string& address) {
  CKPT_ASSIGN(HubName hub, in("--to", parse_hub_name(address)));
  if (hub.revision.empty()) hub.revision = "main";
  const bool is_branch = hub.revision.find("..") == std::string::npos &&
                         hub.revision.find_first_of(" ?#\\:\n") == std::string::npos;
  if (hub.path.empty() && is_branch) return hub;
  return misuse_hint("hf://ORG/NAME[@BRANCH]", "--to {}: not the name of a repository and a branch",
                     address);
}

Result<std::vector<Placement>> list_hub(const std::string& address, const Shipment& shipment) {
  CKPT_ASSIGN(const HubName hub, parse_hub_target(address));
  std::vector<Placement> out;
  for (const FileDigest& file : shipment.files) {
    out.push_back({file.name, fmt::format("hf://{}@{}/{}", hub.repository, hub.revision, file.name),
                   file.size_bytes});
  }
  return out;
}

class HubSender {
 public:
  HubSender(const HubRepository& repository, const Shipment& shipment, const SendOptions& options)
      : repository_(repository), shipment_(shipment), options_(options) {}

  Result<SentArtifact> send() {
    CKPT_ASSIGN(const std::string head, repository_.head());
    CKPT_TRY(describe_files());
    CKPT_TRY(repository_.ask(files_));
    SentArtifact sent;
    for (const HubFile& file : files_) {
      sent.present_files += file.is_there ? 1 : 0;
      sent.sent_files += file.is_there ? 0 : 1;
      if (!file.is_there) sent.sent_bytes += file.size_bytes;
    }
    sent.digest = head;
    if (sent.sent_files == 0) return sent;
    CKPT_TRY(send_large_files());
    CKPT_TRY(check_unchanged(shipment_));
    CKPT_ASSIGN(sent.digest, commit(head));
    return sent;
  }

 private:
  Status describe_files() {
    for (const FileDigest& file : shipment_.files) {
      HubFile described{file.name, file.sha256, file.size_bytes, ""};
      CKPT_ASSIGN(described.sample, content_of(file.name, kSampleBytes));
      if (file.size_bytes <= kMaxSmallBytes) {
        CKPT_ASSIGN(const std::string content, content_of(file.name, file.size_bytes));
        described.git_id = git_id_of(content);
      }
      files_.push_back(std::move(described));
    }
    return {};
  }

  Result<std::string> content_of(const std::string& name, uint64_t limit_bytes) const {
    CKPT_ASSIGN(const HttpBody body, body_of(shipment_, name, options_, nullptr));
    std::string bytes(std::min(body.size_bytes, limit_bytes), '\0');
    CKPT_TRY(body.read(0, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  Status send_large_files() {
    CKPT_ASSIGN(const std::vector<HubUpload> uploads, repository_.uploads(files_));
    std::vector<std::pair<size_t, size_t>> jobs;  // (upload, part)
    std::vector<std::vector<std::string>> etags;
    uint64_t total_bytes = 0;
    for (size_t i = 0; i < uploads.size(); ++i) {
      for (size_t part = 0; part < uploads[i].parts.size(); ++part) jobs.emplace_back(i, part);
      etags.emplace_back(uploads[i].parts.size());
      total_bytes += files_[uploads[i].file].size_bytes;
    }
    SentBytes progress(options_.observer->progress("sending"), total_bytes);
    CKPT_TRY(for_each_parallel(jobs.size(), kHubPartsAtATime, [&](size_t i) -> Status {
      const auto& [upload, part] = jobs[i];
      CKPT_ASSIGN(etags[upload][part], send_part(uploads[upload], part, progress));
      return {};
    }));
    for (size_t i = 0; i < uploads.size(); ++i) {
      const HubFile& file = files_[uploads[i].file];
      CKPT_TRY(in(file.path, repository_.finish(uploads[i], file, etags[i])));
    }
    return {};
  }

  Result<std::string> send_part(const HubUpload& upload, size_t part, SentBytes& progress) const {
    const HubFile& file = files_[upload.file];
    CKPT_ASSIGN(HttpBody body, body_of(shipment_, file.path, options_, &progress));
    const uint64_t begin = part * upload.part_bytes;
    const uint64_t size_bytes = upload.part_bytes == 0
                                    ? file.size_bytes
                                    : std::min(upload.part_bytes, file.size_bytes - begin);
    return in(file.path, repository_.put_part(upload.parts[part],
                                              part_of(std::move(body), begin, size_bytes)));
  }

  Result<std::string> lines_of_commit(const std::string& parent) const {
    HubJson header = {{"summary", "Upload with ckpt"}, {"description", ""}};
    header["parentCommit"] = parent;
    std::string out = HubJson({{"key", "header"}, {"value", header}}).dump() + "\n";
    for (const HubFile& file : files_) {
      if (file.is_there) continue;
      HubJson value = {{"path", file.path}};
      if (file.is_lfs) {
        value["algo"] = "sha256";
        value["oid"] = file.sha256;
        value["size"] = file.size_bytes;
      } else if (file.size_bytes > kMaxSmallBytes) {
        return unsupported("{}: {} bytes that the hub wants inside the commit", file.path,
                           file.size_bytes);
      } else {
        CKPT_ASSIGN(const std::string content, content_of(file.path, file.size_bytes));
        value["content"] = base64(content);
        value["encoding"] = "base64";
      }
      out += HubJson({{"key", file.is_lfs ? "lfsFile" : "file"}, {"value", value}}).dump() + "\n";
    }
    return out;
  }

  // Makes the commit. If the answer is lost, the head shows whether the commit was made.
  Result<std::string> commit(const std::string& parent) {
    CKPT_ASSIGN(const std::string lines, lines_of_commit(parent));
    for (int tries = 1;; ++tries) {
      Result<std::string> done = repository_.commit(lines);
      if (done || done.error().code != ErrorCode::kIo || tries == kCommitTries) return done;
      CKPT_ASSIGN(const std::string head, repository_.head());
      if (head == parent) continue;
      std::vector<HubFile> there = files_;
      CKPT_TRY(repository_.ask(there));
      if (std::ranges::all_of(there, &HubFile::is_there)) return head;
      return done;
    }
  }

  const HubRepository& repository_;
  const Shipment& shipment_;
  const SendOptions& options_;
  std::vector<HubFile> files_;
};

Result<SentArtifact> send_to_hub(const std::string& address, const Shipment& shipment,
                                 const SendOptions& options) {
  CKPT_ASSIGN(const HubName hub, parse_hub_target(address));
  CKPT_ASSIGN(HubAccess access, hub_access());
  if (access.token.empty()) {
    return misuse_hint("hf auth login, or HF_TOKEN in the environment",
                       "--to {}: no token to write with", address);
  }
  const HubRepository repository(std::move(access), hub.repository, hub.revision);
  CKPT_ASSIGN(SentArtifact sent, HubSender(repository, shipment, options).send());
  sent.address = fmt::format("hf://{}@{}", hub.repository, sent.digest);
  sent.digest.clear();
  return sent;
}

}  // namespace

extern const PublishTarget kToHub{"hf://", "hf://ORG/NAME", "one commit on a Hugging Face hub",
                                  list_hub, send_to_hub};

}  // namespace ckpt
