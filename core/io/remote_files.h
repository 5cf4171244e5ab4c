// Files that URLs name. core opens no connections; remote/ provides the files.
//
//   hf://ORG/NAME[@REVISION][/PATH]   s3://BUCKET/PATH   https://HOST/PATH   http://HOST/PATH
//
// A URL is passed as the text of a path: "hf://org/name" / "config.json" names a file of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

class ByteSource;

struct RemoteEntry {
  std::string path;         // relative to what was listed
  uint64_t size_bytes = 0;  // 0 where the server does not list it
  // Of the content, lower-case hex; "" where the server does not list them.
  std::string sha256 = {}, git_id = {};  // core/base/git_id.h
};

// Thread-safe. Folders are those of the files that a server lists.
class RemoteFiles {
 public:
  virtual ~RemoteFiles() = default;
  virtual Result<bool> is_there(const std::string& url) const = 0;
  virtual Result<bool> is_folder(const std::string& url) const = 0;
  // All files below a folder, sorted by path.
  virtual Result<std::vector<RemoteEntry>> list(const std::string& url) const = 0;
  virtual Result<std::shared_ptr<const ByteSource>> open(const std::string& url) const = 0;
  // `url` with its branch or tag replaced by the commit it points to now; any other URL unchanged.
  virtual Result<std::string> pinned(const std::string& url) const = 0;
};

bool is_url(const std::filesystem::path& path);
// Reads of a server at a time, of 4 to 8 MB: 1 GB a second at 50 ms of latency.
inline constexpr unsigned kReadsOfServer = 16;
// Sets the provider of files; `files` must outlive everything that is read.
void serve_urls(const RemoteFiles& files);
// Without a provider, all of these fail with kUnsupported.
const RemoteFiles& url_files();

// Names of the files and folders in a folder, sorted. Fails: as RemoteFiles::list().
Result<std::vector<std::string>> names_at_url(const std::filesystem::path& folder);
// RemoteFiles::pinned() for a URL; a path is returned unchanged.
Result<std::filesystem::path> pinned_path(const std::filesystem::path& path);

}  // namespace ckpt
