// One branch of a model repository on a Hugging Face hub, written without Xet.
//
//   preupload ─▶ which files are LFS, which are there ─▶ LFS batch ─▶ PUTs ─▶ verify ─▶ one commit
//
// Source: huggingface/huggingface_hub 2.4.0 _commit_api.py, lfs.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_read.h"
#include "remote/remote.h"

namespace ckpt {

struct HubFile {
  std::string path, sha256;
  uint64_t size_bytes = 0;
  std::string sample;       // its first 512 bytes
  std::string git_id = {};  // of a small file: git's own id of the content
  bool is_lfs = false, is_there = false;
};

// Where the parts of a large file go; one URL and no `part_bytes`: the file in one request.
struct HubUpload {
  size_t file = 0;  // its index
  std::vector<Url> parts;
  uint64_t part_bytes = 0;
  std::string finish, verify;  // URLs; may be empty
};

// Thread-safe. All fail as requests do.
class HubRepository {
 public:
  HubRepository(HubAccess access, std::string name, std::string branch)
      : access_(std::move(access)), name_(std::move(name)), branch_(std::move(branch)) {}

  // The commit that the branch is at. Fails: kUsage if the repository does not exist.
  Result<std::string> head() const;
  // Says of each file whether it is LFS and whether the branch has it already.
  Status ask(std::vector<HubFile>& files) const;
  // Uploads of LFS files that the hub does not have.
  Result<std::vector<HubUpload>> uploads(const std::vector<HubFile>& files) const;
  // The ETag.
  Result<std::string> put_part(const Url& url, const HttpBody& body) const;
  Status finish(const HubUpload& upload, const HubFile& file,
                const std::vector<std::string>& etags) const;
  // All files appear at once, on top of `parent`. Returns the commit. Fails: kUsage where the
  // branch has moved.
  Result<std::string> commit(const std::string& lines) const;

 private:
  Result<JsonValue> post(const std::string& path, const std::string& body,
                         const std::string& type) const;

  const HubAccess access_;
  const std::string name_, branch_;
};

}  // namespace ckpt
