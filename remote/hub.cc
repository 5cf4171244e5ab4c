#include "remote/hub.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "core/base/find.h"
#include "core/base/hex.h"
#include "core/base/lines.h"
#include "core/base/url_secrets.h"
#include "core/base/words.h"
#include "core/io/open_folder.h"
#include "core/io/paths.h"
#include "core/json/json_read.h"
#include "remote/response_headers.h"
#include "remote/root.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxPageBytes = 32 << 20;
constexpr size_t kMaxHubFiles = 200'000;
constexpr std::string_view kHubScheme = "hf://";

bool is_hub_word(std::string_view word) {
  const auto is_fine = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  return !word.empty() && word.size() <= 96 && word[0] != '.' && std::ranges::all_of(word, is_fine);
}

// Parses an entry of the tree; nullopt for folders.
Result<std::optional<std::pair<std::string, RemoteFile>>> file_of_tree(const JsonValue& entry) {
  using FileLookup = std::optional<std::pair<std::string, RemoteFile>>;
  const std::string* const type = text_of(entry, "type");
  const std::string* const path = text_of(entry, "path");
  if (type != nullptr && *type == "directory") return FileLookup();
  const JsonValue* const size = member(entry, "size");
  RemoteFile file;
  if (size != nullptr) file.size_bytes = whole(*size);
  if (path == nullptr || !file.size_bytes) {
    return corrupt("the hub lists an entry without path or size");
  }
  CKPT_TRY(check_listed_path(*path));
  if (const JsonValue* const lfs = known(entry, "lfs")) {
    const std::string* const oid = text_of(*lfs, "oid");
    if (oid != nullptr && oid->size() == 64 && is_hex(*oid)) file.sha256 = *oid;
  } else if (const std::string* const oid = text_of(entry, "oid")) {
    if (oid->size() == 40 && is_hex(*oid)) file.git_id = *oid;
  }
  return FileLookup(std::pair(*path, std::move(file)));
}

class HubRoot final : public RemoteRoot {
 public:
  HubRoot(HubAccess access, HubName name, std::string commit)
      : access_(std::move(access)), name_(std::move(name)), commit_(std::move(commit)) {
    pinned_ = fmt::format("{}{}@{}", kHubScheme, name_.repository, commit_);
  }

  Status read_tree() {
    HttpRequest request =
        ask_commit(fmt::format("/api/models/{}/tree/{}", name_.repository, commit_));
    request.url.query = "recursive=true&expand=false";
    request.max_response_bytes = kMaxPageBytes;
    std::set<std::string> seen{request.url.text()};
    for (size_t pages = 0; pages <= kMaxHubFiles / 100; ++pages) {
      CKPT_ASSIGN(const HttpResponse response, ask_hub(request));
      CKPT_TRY(in(request.url.shown(), add_hub_page(response.body, files_)));
      CKPT_ASSIGN(const std::string next, in(request.url.shown(), next_link(response.headers)));
      if (next.empty()) return {};
      CKPT_ASSIGN(const Url url, in(request.url.shown(), resolve_url(request.url, next)));
      if (!url.is_same_origin(access_.endpoint)) {
        return corrupt("{}: the next page of the list is on another host ({})", request.url.shown(),
                       url.shown());
      }
      if (!seen.insert(url.text()).second) {
        return corrupt("{}: the list of files names a next page that was read already",
                       request.url.shown());
      }
      request.url = url;
    }
    return corrupt("{}: the list of files has no end", request.url.shown());
  }

  Result<HttpRequest> request(const std::string& path, bool was_refused) const override {
    HttpRequest out = ask_commit("/");
    std::optional<Url> known;
    if (!was_refused) {
      const std::lock_guard lock(mutex_);
      if (const Url* const found = find_mapped(resolved_, path)) known = *found;
    }
    if (!known) {
      CKPT_ASSIGN(known, resolve(path));
      const std::lock_guard lock(mutex_);
      resolved_.insert_or_assign(path, *known);
    }
    out.url = std::move(*known);
    if (!out.url.is_same_origin(access_.endpoint)) {
      out.credentials.clear();
      out.expected.clear();
    }
    return out;
  }

  Result<SharedSource> local(const std::string& path) const override {
    const std::string cache = hub_cache_folder();
    const RemoteFile& file = files_.at(path);
    const std::string& blob = file.sha256.empty() ? file.git_id : file.sha256;
    if (cache.empty() || blob.empty()) return SharedSource();
    std::string folder = "models--" + name_.repository;
    folder.replace(folder.find('/'), 1, "--");
    const fs::path kept = fs::path(cache) / folder / "blobs" / blob;
    const auto exists = is_there(kept, Links::kFollow);
    if (!exists || !*exists) return SharedSource();
    CKPT_ASSIGN(SharedSource source, open_file(kept));
    return source->size_bytes() == file.size_bytes ? source : SharedSource();
  }

 private:
  // A hub may omit the commit in its answers, but must not name another one.
  HttpRequest ask_commit(std::string_view path) const {
    HttpRequest out = hub_request(access_, path);
    out.expected = {{"x-repo-commit", commit_}};
    return out;
  }

  // Finds the URL of the bytes: large files are on another host, under a URL that expires.
  Result<Url> resolve(const std::string& path) const {
    HttpRequest request = ask_commit(
        fmt::format("/{}/resolve/{}/{}", name_.repository, commit_, percent_encoded(path, "/")));
    request.max_redirects = 0;
    request.range = HttpRange{0, 1};
    const RemoteFile& file = files_.at(path);
    CKPT_ASSIGN(const HttpResponse response, http_send(request));
    if (response.is_good()) return request.url;
    if (response.status < 300 || response.status >= 400) {
      return http_failure(response, response.value("x-error-message"));
    }
    const std::string* const etag = response.header("x-linked-etag");
    if (etag != nullptr && !file.sha256.empty() && unquoted(*etag) != file.sha256) {
      return corrupt("{}: the file has another SHA-256 than the list of files says",
                     request.url.shown());
    }
    return redirect_target(response);
  }

  const HubAccess access_;
  const HubName name_;
  const std::string commit_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Url> resolved_;
};

}  // namespace

Status add_hub_page(std::string_view json, RemoteRoot::Files& files) {
  CKPT_ASSIGN(const JsonValue page, parse_json("the hub's list of files", json));
  if (!page.is_array()) return corrupt("the hub's list of files is not an array");
  for (const JsonValue& entry : page) {
    CKPT_ASSIGN(auto file, file_of_tree(entry));
    if (file && !files.emplace(file->first, std::move(file->second)).second) {
      return corrupt("the hub lists '{}' twice", file->first);
    }
  }
  if (files.size() > kMaxHubFiles) {
    return unsupported("more than {} files", kMaxHubFiles);
  }
  return {};
}

Result<HubName> parse_hub_name(std::string_view url) {
  const auto refuse = [&](std::string_view what) {
    return misuse_hint("hf://ORG/NAME[@REVISION][/PATH]", "{}: {}", without_url_secrets(url), what);
  };
  std::string_view rest = url.substr(std::min(kHubScheme.size(), url.size()));
  while (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = rest.find('/');
  if (slash == rest.npos) return refuse("names no repository");
  const size_t end = std::min(rest.find('/', slash + 1), rest.size());
  const std::string_view name = rest.substr(slash + 1, end - slash - 1);
  const size_t at = name.find('@');
  HubName out;
  const std::string_view organization = rest.substr(0, slash);
  if (!is_hub_word(organization) || !is_hub_word(name.substr(0, at))) {
    return refuse("not the name of a repository");
  }
  out.repository = fmt::format("{}/{}", organization, name.substr(0, at));
  if (at != name.npos) {
    CKPT_ASSIGN(out.revision, in(without_url_secrets(url), percent_decoded(name.substr(at + 1))));
  }
  if (at != name.npos && out.revision.empty()) return refuse("'@' without a revision");
  if (end < rest.size()) out.path = rest.substr(end + 1);
  if (!out.path.empty() && !stays_inside(out.path)) return refuse("leaves the repository");
  return out;
}

HttpRequest hub_request(const HubAccess& access, std::string_view path) {
  HttpRequest request;
  request.url = access.endpoint;
  request.url.path += path;
  request.credentials = access.credentials();
  return request;
}

Result<HttpResponse> ask_hub(const HttpRequest& request) {
  CKPT_ASSIGN(HttpResponse response, http_send(request));
  if (response.is_good()) return response;
  const std::string_view code = response.value("x-error-code");
  Error error = http_failure(response, response.value("x-error-message")).value();
  if (response.status == 401 || code == "RepoNotFound") {
    error.hint = "checking the name; HF_TOKEN or `hf auth login` for a private repository";
  } else if (code == "GatedRepo") {
    error.hint = "asking for access on the page of the model, with HF_TOKEN set";
  }
  return Failure(std::move(error));
}

Result<std::string> hub_commit(const HubAccess& access, const HubName& name) {
  const std::string revision = name.revision.empty() ? "main" : name.revision;
  HttpRequest request = hub_request(
      access,
      fmt::format("/api/models/{}/revision/{}", name.repository, percent_encoded(revision)));
  request.max_response_bytes = kMaxPageBytes;
  CKPT_ASSIGN(const HttpResponse response, ask_hub(request));
  CKPT_ASSIGN(const JsonValue about, parse_json(request.url.shown(), response.body));
  const std::string* const commit = text_of(about, "sha");
  if (commit == nullptr || commit->size() != 40 || !is_hex(*commit)) {
    return corrupt("{}: the answer names no commit", request.url.shown());
  }
  return *commit;
}

Result<SharedRoot> open_hub(const std::string& url) {
  CKPT_ASSIGN(const HubName name, parse_hub_name(url));
  CKPT_ASSIGN(HubAccess access, hub_access());
  CKPT_ASSIGN(std::string commit, in(url, hub_commit(access, name)));
  auto root = std::make_shared<HubRoot>(std::move(access), name, std::move(commit));
  CKPT_TRY(in(url, root->read_tree()));
  return SharedRoot(std::move(root));
}

}  // namespace ckpt
