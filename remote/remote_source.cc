// Reads a file on a server by ranges.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/git_id.h"
#include "core/base/sha256.h"
#include "core/io/open_folder.h"
#include "remote/root.h"

namespace ckpt {
namespace {

// Reads below kSmallBytes may be of headers. Tiny reads fetch a window: first a small one, then
// larger ones.
constexpr uint64_t kTinyBytes = 4 << 10, kSmallBytes = 1 << 20;
constexpr uint64_t kFirstWindowBytes = 16 << 10, kMaxWindowBytes = 1 << 20;

class RemoteSource final : public ByteSource {
 public:
  RemoteSource(std::string url, SharedRoot root, std::string path)
      : name_(std::move(url)),
        root_(std::move(root)),
        path_(std::move(path)),
        file_(root_->files().at(path_)),
        is_size_listed_(file_.size_bytes && has_digest()),
        version_(file_.version) {
    const auto first = std::as_bytes(std::span(file_.first));
    window_.assign(first.begin(), first.end());
    file_.first.clear();
  }

  // Asks for the size unless the listing states it.
  Status open() {
    const bool is_listed = file_.size_bytes && (has_digest() || version_.is_known());
    if (!is_listed && file_.size_bytes != uint64_t{0}) {
      std::vector<std::byte> first(kFirstWindowBytes);
      CKPT_ASSIGN(const HttpResponse response, ask({0, first.size(), file_.size_bytes}, first));
      state_.shows_changes = version_.is_known();
      file_.size_bytes = response.file_bytes;
      first.resize(std::min<uint64_t>(first.size(), size_bytes()));
      if (first.size() == size_bytes()) CKPT_TRY(check_whole(first));
      window_ = std::move(first);
    }
    // The identity of the content: its digest, or everything that the server sends about it.
    const std::string content = file_.sha256 + file_.git_id + version_.text();
    const std::string identity = sha256_of(root_->pinned() + "\n" + path_ + "\n" + content);
    std::from_chars(identity.data(), identity.data() + 15, state_.inode, 16);
    // A plan notices a changed file by its time, and ignores the inode: so both hold the identity.
    state_.modified_ns = content.empty() ? kTimeUnknown : static_cast<int64_t>(state_.inode);
    state_.size_bytes = size_bytes();
    state_.has_listed_digest = has_digest();
    return {};
  }

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    if (offset_bytes > size_bytes() || out.size() > size_bytes() - offset_bytes) {
      return corrupt("{}: bytes {} to {} lie past the end ({} bytes)", name_, offset_bytes,
                     offset_bytes + out.size(), size_bytes());
    }
    if (out.empty() || take_known(offset_bytes, out)) return {};
    return out.size() < kSmallBytes ? read_small(offset_bytes, out) : read_range(offset_bytes, out);
  }

  uint64_t size_bytes() const override { return *file_.size_bytes; }
  const std::string& name() const override { return name_; }
  const FileState* file_state() const override { return &state_; }

 private:
  bool has_digest() const { return !file_.sha256.empty() || !file_.git_id.empty(); }

  bool take_known(uint64_t offset_bytes, std::span<std::byte> out) const {
    const std::lock_guard lock(window_mutex_);
    const bool is_known = offset_bytes >= window_start_ &&
                          offset_bytes + out.size() <= window_start_ + window_.size();
    if (is_known) {
      std::memcpy(out.data(), window_.data() + (offset_bytes - window_start_), out.size());
    }
    return is_known;
  }

  // Reads that continue the window wait for each other, as they belong to one header.
  Status read_small(uint64_t offset_bytes, std::span<std::byte> out) const {
    std::unique_lock lock(window_mutex_);
    const uint64_t end = window_start_ + window_.size();
    const bool continues = offset_bytes >= window_start_ && offset_bytes <= end;
    if (!continues && !window_.empty()) {
      lock.unlock();
      return read_range(offset_bytes, out);
    }
    if (offset_bytes + out.size() > end) {
      const uint64_t from = window_.empty() ? offset_bytes : end;
      if (!window_.empty()) window_bytes_ = std::min(2 * window_bytes_, kMaxWindowBytes);
      const uint64_t needed = offset_bytes + out.size() - from;
      const uint64_t wanted = out.size() < kTinyBytes ? std::max(needed, window_bytes_) : needed;
      std::vector<std::byte> more(std::min(wanted, size_bytes() - from));
      CKPT_TRY(read_range(from, more));
      // Keeps the beginning of a header, which is read again to recognize the format.
      const bool keeps_all = !window_.empty() && window_.size() + more.size() <= kMaxWindowBytes;
      const uint64_t start = keeps_all ? window_start_ : offset_bytes;
      if (!window_.empty()) {
        const auto dropped = static_cast<ptrdiff_t>(start - window_start_);
        window_.erase(window_.begin(), window_.begin() + dropped);
      }
      window_.insert(window_.end(), more.begin(), more.end());
      window_start_ = start;
    }
    std::memcpy(out.data(), window_.data() + (offset_bytes - window_start_), out.size());
    return {};
  }

  Status read_range(uint64_t offset_bytes, std::span<std::byte> out) const {
    CKPT_TRY(ask({offset_bytes, out.size(), file_.size_bytes}, out));
    return out.size() == file_.size_bytes ? check_whole(out) : Status();
  }

  // Reads `range` into `out`. If the file's size is unknown, the file may end earlier.
  Result<HttpResponse> ask(HttpRange range, std::span<std::byte> out) const {
    for (bool was_refused = false;; was_refused = true) {
      CKPT_ASSIGN(HttpRequest request, root_->request(path_, was_refused));
      request.range = range;
      request.range->is_listed = is_size_listed_;
      {
        const std::lock_guard lock(mutex_);
        request.version = version_;
      }
      request.sink = [&](uint64_t at, std::span<const std::byte> bytes) -> Status {
        std::memcpy(out.data() + at, bytes.data(), bytes.size());
        return {};
      };
      CKPT_ASSIGN(HttpResponse response, in(name_, http_send(request)));
      if (!response.is_good() && response.status == 403 && !was_refused) continue;
      if (response.status == 416 && !file_.size_bytes) {  // empty, so no range is valid
        response.file_bytes = 0;
        return response;
      }
      if ((response.status == 404 || response.status == 410) && !file_.sha256.empty()) {
        return corrupt("{}: missing, though the list of files names it; the server answered {}",
                       name_, response.status);
      }
      if (!response.is_good()) return in(name_, Result<HttpResponse>(http_failure(response)));
      // First answers may arrive in parallel; each is compared with the version recorded first.
      FileVersion version = FileVersion::of(response);
      const std::lock_guard lock(mutex_);
      CKPT_TRY(in(name_, version_.check_same(version)));
      if (!version_.is_known()) version_ = std::move(version);
      return response;
    }
  }

  Status check_whole(std::span<const std::byte> bytes) const {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const bool is_same = !file_.sha256.empty()   ? sha256_of(text) == file_.sha256
                         : !file_.git_id.empty() ? git_id_of(text) == file_.git_id
                                                 : true;
    if (is_same) return {};
    return corrupt_hint("again; the server or what is in between changed them",
                        "{}: the bytes that came have another {} than the list of files says",
                        name_, file_.sha256.empty() ? "git blob id" : "SHA-256");
  }

  const std::string name_;
  const SharedRoot root_;
  const std::string path_;
  RemoteFile file_;
  const bool is_size_listed_;  // by a listing with a digest
  FileState state_;
  mutable std::mutex mutex_;
  mutable FileVersion version_;  // from the first answer
  mutable std::mutex window_mutex_;
  mutable uint64_t window_start_ = 0, window_bytes_ = kFirstWindowBytes;
  mutable std::vector<std::byte> window_;
};

}  // namespace

Status check_listed_path(std::string_view path) {
  const bool is_fine = path.size() <= 1024 && stays_inside(std::string(path)) &&
                       std::ranges::none_of(path, [](char c) {
                         return c == '\\' || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
                       });
  if (is_fine) return {};
  return corrupt("the list of files names '{}', which leads out of its folder",
                 path.substr(0, 200));
}

Result<SharedSource> open_remote(const std::string& url, SharedRoot root, const std::string& path) {
  auto source = std::make_shared<RemoteSource>(url, std::move(root), path);
  CKPT_TRY(source->open());
  return SharedSource(std::move(source));
}

}  // namespace ckpt
