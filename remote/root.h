// The files that a URL names, listed once: a repository at a commit, a prefix of a bucket, or a
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
  std::string sha256 = {};   // lower-case hex, if listed
  std::string git_id = {};   // if listed (core/base/git_id.h)
  FileVersion version = {};  // from the listing
  std::string first = {};    // first bytes, if listing the file fetched them
};

class RemoteRoot {
 public:
  // Maps paths below the root to files. If the root is a file, its path is "".
  using Files = std::map<std::string, RemoteFile>;

  RemoteRoot() = default;
  RemoteRoot(const RemoteRoot&) = delete;
  RemoteRoot& operator=(const RemoteRoot&) = delete;
  virtual ~RemoteRoot() = default;

  const Files& files() const { return files_; }
  // A URL that will name the same files later.
  const std::string& pinned() const { return pinned_; }
  // Makes the request for a file's bytes. `was_refused`: the server refused the previous request.
  virtual Result<HttpRequest> request(const std::string& path, bool was_refused) const = 0;
  // Returns the file if this machine already has it; nullptr otherwise.
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

// Add a page of a listing to `files`: a hub's tree in JSON, a bucket's keys in XML, a SHA256SUMS.
// Keys outside `prefix` are omitted; the key that equals `prefix` has the path "". Fail: kCorrupt.
Status add_hub_page(std::string_view json, RemoteRoot::Files& files);
Status add_s3_page(std::string_view xml, const std::string& prefix, RemoteRoot::Files& files);
Status add_sums(std::string_view text, RemoteRoot::Files& files);

// Checks a path of a listing, which the server may have forged: relative, without "..", '\\' and
// control characters. Fails: kCorrupt.
Status check_listed_path(std::string_view path);

// Runs work(0) to work(count - 1), many in parallel, because each waits for the network.
void ask_in_parallel(size_t count, const std::function<void(size_t)>& work);

// Opens a file of a root. Fails: as http_send(); if the server's file differs from the listed one.
Result<SharedSource> open_remote(const std::string& url, SharedRoot root, const std::string& path);

}  // namespace ckpt
