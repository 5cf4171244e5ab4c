// The files that a URL names, listed once: a repository at a commit, a prefix of a bucket, a
// folder of a server.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/io/bytes.h"
#include "remote/http.h"

namespace ckpt {

struct RemoteFile {
  std::optional<uint64_t> size_bytes = {};
  std::string sha256 = {};   // lower-case hex, where the listing says it
  std::string git_id = {};   // likewise (core/base/git_id.h)
  FileVersion version = {};  // as the listing gives it
  std::string first = {};    // its first bytes, where the listing had to ask for them
};

class RemoteRoot {
 public:
  // Paths below the root; if the root is a file, its path is "".
  using Files = std::map<std::string, RemoteFile>;

  RemoteRoot() = default;
  RemoteRoot(const RemoteRoot&) = delete;
  RemoteRoot& operator=(const RemoteRoot&) = delete;
  virtual ~RemoteRoot() = default;

  const Files& files() const { return files_; }
  // The URL that names the same files later too.
  const std::string& pinned() const { return pinned_; }
  // The request for bytes of a file. `note_refusal`: the server rejected the previous request.
  virtual Result<HttpRequest> request(const std::string& path, bool was_refused) const = 0;
  // The file if this machine already has it; nullptr otherwise.
  virtual Result<SharedSource> local(const std::string& /*path*/) const { return SharedSource(); }

 protected:
  Files files_;
  std::string pinned_;
};

using SharedRoot = std::shared_ptr<const RemoteRoot>;

// "hf://ORG/NAME[@REVISION][/FOLDER]" (hub.cc), "s3://BUCKET/PREFIX" (s3.cc), "https://HOST/..."
// (web.cc). Fail: kUsage if nothing has that name or access is denied; as http_send().
Result<SharedRoot> open_hub(const std::string& url);
Result<SharedRoot> open_s3(const std::string& url);
Result<SharedRoot> open_web(const std::string& url);

// Add a page of a listing to `files`: of a hub's tree in JSON, of a bucket's keys in XML, of
// SHA256SUMS. Keys outside `prefix` are omitted; the key that equals `prefix` has the path "".
// Fail: kCorrupt.
Status add_hub_page(std::string_view json, RemoteRoot::Files& files);
Status add_s3_page(std::string_view xml, const std::string& prefix, RemoteRoot::Files& files);
Status add_sums(std::string_view text, RemoteRoot::Files& files);

// Checks a path of a listing, which a server may have invented: relative, without "..", '\\' and
// control characters. Fails: kCorrupt.
Status check_listed_path(std::string_view path);

// work(0) to work(count - 1), many at the same time: each waits for the network.
void ask_in_parallel(size_t count, const std::function<void(size_t)>& work);

// A file of a root, opened. Fails: as http_send(); if the server's file differs from the listed
// one.
Result<SharedSource> open_remote(const std::string& url, SharedRoot root, const std::string& path);

}  // namespace ckpt
