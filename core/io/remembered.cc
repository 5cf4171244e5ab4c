#include "core/io/remembered.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <string>

#include "core/base/hex.h"
#include "core/base/lines.h"
#include "core/base/numbers.h"
#include "core/io/descriptor.h"
#include "core/io/files_read.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDigestAttribute = "user.ckpt.sha256";
constexpr const char* kSourcesAttribute = "user.ckpt.sources";
constexpr size_t kMaxSourcesBytes = 64 << 10;  // limit for any attribute
// The time that storing the attribute may take. Storing changes the inode, so its change time is
// known only as a range from the previous change; the range doubles with each try, for slow network
// file systems.
constexpr int64_t kStoringNs = 1'000'000;
constexpr int kMostTries = 7;

// No other content has this stamp, unless the file's times were set back.
std::string file_stamp(const struct stat& status) {
  return fmt::format("{} {} {} {}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                     status.st_ino);
}

bool is_stamped(std::string_view stamp, const struct stat& status) {
  const size_t last = stamp.rfind(' ');
  return last != stamp.npos && stamp.substr(0, last) == file_stamp(status) &&
         state_of(status).changed_ns <= number_from<int64_t>(stamp.substr(last + 1)).value_or(0);
}

// Returns "" if there is no attribute.
std::string digest_attribute(int file) {
  std::string value(256, '\0');
  const ssize_t size = ::fgetxattr(file, kDigestAttribute, value.data(), value.size());
  value.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return value;
}

std::optional<std::string> digest_in(const std::string& value) {
  if (value.size() < 65) return std::nullopt;
  std::string digest = value.substr(0, 64);
  return is_hex(digest) ? std::optional(std::move(digest)) : std::nullopt;
}

// Whether nobody else may write to the file or its folder: they could add any attribute to the
// file, or put a file with one into the folder.
bool is_closed_to_others(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The digest in a file's attribute, if `counts(value, file, folder)` accepts it.
template <class Counts>
std::optional<std::string> digest_of(const fs::path& path, Counts counts) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);  // the folder of a link is irrelevant
  if (error) return std::nullopt;
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(retried([&] { return ::open(real.c_str(), kFlags); }));
  struct stat status {
  }, folder{};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::stat(real.parent_path().c_str(), &folder) != 0) {
    return std::nullopt;
  }
  const std::string value = digest_attribute(file.get());
  const auto digest = digest_in(value);
  return digest && counts(value, status, folder) ? digest : std::nullopt;
}

}  // namespace

void remember_digest(const fs::path& path, std::string_view sha256) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  for (int i = 0; i < kMostTries; ++i) {
    const int64_t last_change_ns = state_of(status).changed_ns + (kStoringNs << i);
    const std::string value = fmt::format("{} {} {}", sha256, file_stamp(status), last_change_ns);
    if (::setxattr(path.c_str(), kDigestAttribute, value.data(), value.size(), 0) != 0) return;
    struct stat after {};
    if (::stat(path.c_str(), &after) != 0 || state_of(after) != state_of(status)) return;
    status = after;
    if (state_of(status).changed_ns <= last_change_ns) return;
  }
}

std::optional<std::string> remembered_digest(const fs::path& path) {
  return digest_of(path, [](std::string_view value, const auto& file, const auto& folder) {
    return is_closed_to_others(file) && is_closed_to_others(folder) && value[64] == ' ' &&
           is_stamped(value.substr(65), file);
  });
}

std::optional<std::string> recorded_digest(const fs::path& path) {
  return digest_of(path, [](const auto&...) { return true; });
}

// Stores "SHA256\nURL\n...".
void remember_sources(const fs::path& path, std::string_view sha256,
                      const std::vector<std::string>& urls) {
  if (urls.empty()) return;
  const auto digest = remembered_digest(path);
  std::string value(sha256);
  for (const std::string& url : urls) value += "\n" + url;
  (void)!::setxattr(path.c_str(), kSourcesAttribute, value.data(), value.size(), 0);
  if (digest) remember_digest(path, *digest);  // storing changed the inode again
}

std::vector<std::string> remembered_sources(const fs::path& path, std::string_view sha256) {
  std::string value(kMaxSourcesBytes, '\0');
  const ssize_t size = ::getxattr(path.c_str(), kSourcesAttribute, value.data(), value.size());
  std::string_view text =
      std::string_view(value).substr(0, size < 0 ? 0 : static_cast<size_t>(size));
  if (sha256.empty() || take_line(text) != sha256) return {};
  std::vector<std::string> out;
  while (!text.empty()) out.emplace_back(take_line(text));
  return out;
}

}  // namespace ckpt
