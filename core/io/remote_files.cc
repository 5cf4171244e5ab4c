#include "core/io/remote_files.h"

#include <array>
#include <atomic>

namespace ckpt {
namespace {

class NoFiles final : public RemoteFiles {
 public:
  Result<bool> is_there(const std::string& url) const override { return refuse(url); }
  Result<bool> is_folder(const std::string& url) const override { return refuse(url); }
  Result<std::vector<RemoteEntry>> list(const std::string& url) const override {
    return refuse(url);
  }
  Result<std::shared_ptr<const ByteSource>> open(const std::string& url) const override {
    return refuse(url);
  }
  Result<std::string> pinned(const std::string& url) const override { return refuse(url); }

 private:
  static Failure refuse(const std::string& url) {
    return unsupported("{}: a URL, which this program does not open", url);
  }
};

const NoFiles kNoFiles;
std::atomic<const RemoteFiles*> served_files = &kNoFiles;

}  // namespace

bool is_url(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 4> kUrlStarts = {"hf://", "s3://", "https://", "http://"};
  for (const std::string_view scheme : kUrlStarts) {
    if (path.native().starts_with(scheme)) return true;
  }
  return false;
}

void serve_urls(const RemoteFiles& files) { served_files = &files; }

const RemoteFiles& url_files() { return *served_files; }

Result<std::vector<std::string>> names_at_url(const std::filesystem::path& folder) {
  CKPT_ASSIGN(const auto entries, url_files().list(folder.string()));
  std::vector<std::string> names;
  for (const RemoteEntry& entry : entries) {
    std::string name = entry.path.substr(0, entry.path.find('/'));
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

Result<std::filesystem::path> pinned_path(const std::filesystem::path& path) {
  if (!is_url(path)) return path;
  return url_files().pinned(path.string()).map([](const std::string& url) {
    return std::filesystem::path(url);
  });
}

}  // namespace ckpt
