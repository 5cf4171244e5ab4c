#include "remote/remote.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "core/base/find.h"
#include "core/base/url_secrets.h"
#include "core/io/cursor.h"
#include "core/io/remote_files.h"
#include "remote/root.h"

namespace ckpt {
namespace {

constexpr std::string_view kShardEnding = ".safetensors";
constexpr size_t kMaxShardsAhead = 1000;
constexpr uint64_t kMaxHeaderAhead = 900 << 10;

// A file or folder below a root.
struct Place {
  SharedRoot root;
  std::string path;  // "" is the root
};

bool is_file(const Place& place) { return place.root->files().count(place.path) != 0; }

std::string folder_start(const Place& place) { return place.path.empty() ? "" : place.path + "/"; }

bool is_folder_of_root(const Place& place) {
  const std::string start = folder_start(place);
  const auto next = place.root->files().lower_bound(start);
  return !is_file(place) && next != place.root->files().end() && next->first.starts_with(start);
}

std::string without_end_slashes(std::string url) {
  while (url.ends_with('/') && !url.ends_with("://")) url.pop_back();
  return url;
}

// The repository "hf://org/name@revision" of a file in it, because each is listed once.
std::string repository_of(const std::string& url) {
  const size_t organization = url.find('/', 5);
  return url.substr(0, organization == url.npos ? url.npos : url.find('/', organization + 1));
}

class OpenedUrls final : public RemoteFiles {
 public:
  Result<bool> is_there(const std::string& url) const override {
    return find(url).map([](const Place& at) { return is_file(at) || is_folder_of_root(at); });
  }
  Result<bool> is_folder(const std::string& url) const override {
    return find(url).map(is_folder_of_root);
  }
  Result<std::vector<RemoteEntry>> list(const std::string& url) const override {
    CKPT_ASSIGN(const Place place, find(url));
    if (!is_folder_of_root(place)) {
      return misuse("{}: not a folder with files", url);
    }
    const std::string start = folder_start(place);
    std::vector<RemoteEntry> out;
    const auto& files = place.root->files();
    for (auto at = files.lower_bound(start); at != files.end() && at->first.starts_with(start);
         ++at) {
      const RemoteFile& file = at->second;
      out.push_back(
          {at->first.substr(start.size()), file.size_bytes.value_or(0), file.sha256, file.git_id});
    }
    return out;
  }

  Result<SharedSource> open(const std::string& url) const override {
    CKPT_ASSIGN(const Place place, find(url));
    if (!is_file(place)) {
      if (!is_folder_of_root(place)) return not_found("{}: does not exist", url);
      return misuse("{}: not a regular file; expected a file", url);
    }
    CKPT_ASSIGN(const SharedSource kept, place.root->local(place.path));
    if (kept != nullptr) return kept;
    if (place.path.ends_with(kShardEnding)) open_shards(url, place);
    {
      const std::lock_guard lock(opened_mutex_);
      if (const SharedSource* const found = find_mapped(opened_, url)) return *found;
    }
    return open_remote(url, place.root, place.path);
  }

  Result<std::string> pinned(const std::string& url) const override {
    return find(url).map([](const Place& at) {
      return at.path.empty() ? at.root->pinned() : at.root->pinned() + "/" + at.path;
    });
  }

 private:
  Result<Place> find(const std::string& typed) const {
    const std::string url = without_end_slashes(typed);
    const std::lock_guard lock(mutex_);
    for (size_t end = url.size(); end != url.npos && end > url.find("://") + 2;
         end = url.rfind('/', end - 1)) {
      const SharedRoot* const known = find_mapped(roots_, url.substr(0, end));
      if (known != nullptr) return Place{*known, url.substr(std::min(end + 1, url.size()))};
    }
    CKPT_TRY(refuse_url_secrets(typed));  // names in a listed root may resemble queries
    const std::string key = url.starts_with("hf://") ? repository_of(url) : url;
    CKPT_ASSIGN(SharedRoot root, list_root(url.starts_with("hf://") ? key : typed));
    roots_[key] = root;
    roots_[without_end_slashes(root->pinned())] = root;
    return Place{std::move(root), url.substr(std::min(key.size() + 1, url.size()))};
  }

  // Fetches the headers of a folder's shards together when the first shard is opened; otherwise
  // each would wait for the network separately. Failures are reported when the shard itself is
  // opened.
  void open_shards(const std::string& url, const Place& place) const {
    const std::string folder = place.path.substr(0, place.path.rfind('/') + 1);
    const std::string base = url.substr(0, url.size() - place.path.size());
    {
      const std::lock_guard lock(opened_mutex_);
      if (!shards_begun_.insert(base + folder).second) return;
    }
    std::vector<std::string> shards;
    for (const auto& [path, file] : place.root->files()) {
      const bool is_shard = path.starts_with(folder) && path.ends_with(kShardEnding) &&
                            path.find('/', folder.size()) == path.npos;
      if (is_shard && shards.size() < kMaxShardsAhead) shards.push_back(path);
    }
    if (shards.size() < 2) return;
    ask_in_parallel(shards.size(), [&](size_t i) {
      const auto source = open_remote(base + shards[i], place.root, shards[i]);
      if (!source) return;
      (void)Cursor(*source).text_u64(kMaxHeaderAhead);  // cached for later readers
      const std::lock_guard lock(opened_mutex_);
      opened_[base + shards[i]] = *source;
    });
  }

  // Lists a root. An unreadable list of a hub or bucket is an I/O error, as it tells nothing about
  // the files. The list of a web folder is itself a file, which can be corrupt.
  static Result<SharedRoot> list_root(const std::string& typed) {
    const bool is_hub = typed.starts_with("hf://");
    if (!is_hub && !typed.starts_with("s3://")) return open_web(typed);
    Result<SharedRoot> root = is_hub ? open_hub(typed) : open_s3(typed);
    if (!root && root.error().code == ErrorCode::kCorrupt) root.error().code = ErrorCode::kIo;
    return root;
  }

  mutable std::mutex mutex_;
  mutable std::map<std::string, SharedRoot> roots_;
  mutable std::mutex opened_mutex_;
  mutable std::set<std::string> shards_begun_;  // folders whose headers were fetched
  // By URL: a file is opened several times, to recognize its format and then to read it.
  mutable std::map<std::string, SharedSource> opened_;
};

}  // namespace

void open_urls() {
  static const OpenedUrls* const made = new OpenedUrls;  // because sources outlive main()
  serve_urls(*made);
}

}  // namespace ckpt
