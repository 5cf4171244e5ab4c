// Files named by URLs. core opens no connections; remote/ provides the files.
//
//   hf://ORG/NAME[@REVISION][/PATH]   s3://BUCKET/PATH   https://HOST/PATH   http://HOST/PATH
//
// A URL is passed as a path: "hf://org/name" / "config.json" names a file in it.
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
  std::string path;         // relative to the listed folder
  uint64_t size_bytes = 0;  // 0 if the server does not list it
  // Digests of the content in lower-case hex; "" if the server does not list them.
  std::string sha256 = {}, git_id = {};  // core/base/git_id.h
};

// Lists and opens remote files. Thread-safe. Folders are those of the files that a server lists.
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
// Parallel reads of 4 to 8 MB from a server: 1 GB per second at 50 ms of latency.
inline constexpr unsigned kReadsOfServer = 16;
// Sets the provider of files, which must outlive all reading.
void serve_urls(const RemoteFiles& files);
// Without a provider, all functions of the result fail with kUnsupported.
const RemoteFiles& url_files();

// The names of files and folders in a folder, sorted. Fails: as RemoteFiles::list().
Result<std::vector<std::string>> names_at_url(const std::filesystem::path& folder);
// Returns RemoteFiles::pinned() for a URL; other paths are returned unchanged.
Result<std::filesystem::path> pinned_path(const std::filesystem::path& path);

}  // namespace ckpt
