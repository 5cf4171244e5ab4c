// Writes an archive. The offsets of all members in the tar are known before the first read, so
// threads can make frames in any order.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/result.h"
#include "core/base/sha256.h"
#include "core/base/threads.h"
#include "core/chunks/in_order.h"
#include "core/io/folder.h"
#include "core/io/temporary.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"
#include "tools/published/folder_digests.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

Failure append_failure(const fs::path& path, uint64_t written_bytes, int error) {
  return write_failure(path, error, fmt::format("{} bytes of the file are written", written_bytes));
}

class AppendFile {
 public:
  // Makes ".ckpt-NAME.partial" next to it. Fails: kUsage if `path` exists without `force`, its
  // folder is missing, or another run is writing it; kIo.
  static Result<AppendFile> create(const fs::path& path, bool force) {
    CKPT_TRY(check_parent(path));
    std::error_code error;
    const fs::file_status found = fs::symlink_status(path, error);
    if (fs::exists(found) && found.type() != fs::file_type::regular) {
      return misuse_hint("another name",
                         "{}: exists and is not a separate file; expected a new file",
                         path.string());
    }
    if (fs::exists(found) && !force) {
      return misuse_hint("--force to replace it, or another name",
                         "{}: exists already; expected a new file", path.string());
    }
    // An existing file of this name is removed only if this command made it.
    const fs::path temporary = archive_temporary(path);
    CKPT_ASSIGN(LockedTemporary made, LockedTemporary::file(temporary, [&] {
                  return require_ours(temporary, Guard::kOwner);
                }));
    return AppendFile(path, force, std::move(made));
  }

  // Fails: kIo; names the free space if the disk is full.
  Status add(std::span<const std::byte> bytes) {
    sha256_.add(bytes);
    while (!bytes.empty()) {
      const ssize_t count = ::write(made_.descriptor(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return append_failure(path_, size_bytes_, count < 0 ? errno : EIO);
      bytes = bytes.subspan(static_cast<size_t>(count));
      size_bytes_ += static_cast<uint64_t>(count);
    }
    return {};
  }

  uint64_t size_bytes() const { return size_bytes_; }
  // Syncs and renames. Returns the SHA-256 in lower-case hex. Fails: kIo.
  Result<std::string> publish() {
    const OpenFolder& parent = made_.parent();
    CKPT_TRY(parent.publish_mode(made_.name()));
    CKPT_TRY(parent.publish_owner(made_.name(), parent));
    if (retried([&] { return ::fsync(made_.descriptor()); }) != 0) {
      return append_failure(path_, size_bytes_, errno);
    }
    CKPT_TRY(made_.publish(path_.filename().string(), force_));
    CKPT_TRY(in(path_.string(), parent.sync()));
    return sha256_.finish();
  }

 private:
  AppendFile(std::filesystem::path path, bool force, LockedTemporary made)
      : path_(std::move(path)), force_(force), made_(std::move(made)) {}

  std::filesystem::path path_;
  bool force_;
  LockedTemporary made_;
  uint64_t size_bytes_ = 0;
  Sha256 sha256_;
};

// The memory of one worker: a frame's content, its compressed bytes and the state of zstd.
constexpr uint64_t kWorkerBytes = 3 * kFrameBytes;

// A member at its place in the tar: header, content, zeros.
struct PlacedMember {
  TarMember member;
  std::string header;
  uint64_t offset_bytes = 0;
};

class Tar {
 public:
  Tar(fs::path folder, const std::vector<FileDigest>& files) : folder_(std::move(folder)) {
    std::map<std::string, TarMember> members;  // by name; names of folders end in '/'
    for (const FileDigest& file : files) {
      members[file.name] = {file.name, file.size_bytes, false};
      digests_.emplace(file.name, file.sha256);
      for (size_t at = file.name.find('/'); at != std::string::npos;
           at = file.name.find('/', at + 1)) {
        members[file.name.substr(0, at + 1)] = {file.name.substr(0, at), 0, true};
      }
    }
    for (auto& [name, member] : members) {
      std::string header = render_tar_header(member);
      const uint64_t next = size_bytes_ + header.size() + member.size_bytes;
      placed_.push_back({std::move(member), std::move(header), size_bytes_});
      size_bytes_ = round_up(next, kTarBlockBytes);
    }
    size_bytes_ += kTarEndBytes;
  }

  uint64_t size_bytes() const { return size_bytes_; }

  // Hashes the archive's bytes in order. Fails: kIo at the end of a file whose bytes differ from
  // those that were hashed for the sums and the signature.
  Status check(std::span<const std::byte> bytes) {
    const uint64_t end = checked_bytes_ + bytes.size();
    for (; checked_ < placed_.size(); ++checked_) {
      const PlacedMember& placed = placed_[checked_];
      const uint64_t content = placed.offset_bytes + placed.header.size();
      const auto [first, count] =
          overlap(content, placed.member.size_bytes, checked_bytes_, bytes.size());
      if (count > 0) hash_.add(bytes.subspan(first - checked_bytes_, count));
      if (end < content + placed.member.size_bytes) break;
      const std::string digest = std::exchange(hash_, Sha256()).finish();
      if (placed.member.is_folder || digest == digests_.at(placed.member.name)) continue;
      return changed_since_hashed(folder_ / placed.member.name);
    }
    checked_bytes_ = end;
    return {};
  }

  // Fills `out` with bytes of the tar from `offset_bytes`.
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const {
    std::ranges::fill(out, std::byte{0});
    const uint64_t end = offset_bytes + out.size();
    auto at = std::upper_bound(
        placed_.begin(), placed_.end(), offset_bytes,
        [](uint64_t offset, const PlacedMember& placed) { return offset < placed.offset_bytes; });
    if (at != placed_.begin()) --at;
    for (; at != placed_.end() && at->offset_bytes < end; ++at) {
      CKPT_TRY(read_member(*at, offset_bytes, out));
    }
    return {};
  }

 private:
  Status read_member(const PlacedMember& placed, uint64_t offset_bytes,
                     std::span<std::byte> out) const {
    const uint64_t content = placed.offset_bytes + placed.header.size();
    const auto header = std::as_bytes(std::span(placed.header));
    const auto [from, count] =
        overlap(placed.offset_bytes, header.size(), offset_bytes, out.size());
    if (count > 0) {
      std::memcpy(out.data() + (from - offset_bytes), header.data() + (from - placed.offset_bytes),
                  count);
    }
    const auto [first, bytes] =
        overlap(content, placed.member.size_bytes, offset_bytes, out.size());
    if (bytes == 0) return {};
    const fs::path path = folder_ / placed.member.name;
    CKPT_ASSIGN(const SharedSource source, open_file(path));
    if (source->size_bytes() != placed.member.size_bytes) {
      return fail(ErrorCode::kIo, "{}: {} bytes, where {} were hashed; it was changed meanwhile",
                  path.string(), source->size_bytes(), placed.member.size_bytes);
    }
    return source->read(first - content, out.subspan(first - offset_bytes, bytes));
  }

  struct Range {
    uint64_t first, count;
  };
  static Range overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    const uint64_t first = std::max(a, b), end = std::min(a + a_bytes, b + b_bytes);
    return {first, end > first ? end - first : 0};
  }

  fs::path folder_;
  std::vector<PlacedMember> placed_;
  std::map<std::string, std::string> digests_;  // digests of files, by file name
  uint64_t size_bytes_ = 0;
  size_t checked_ = 0;  // members
  uint64_t checked_bytes_ = 0;
  Sha256 hash_;  // of the member being checked
};

unsigned worker_count(const ArchiveOptions& options) {
  return static_cast<unsigned>(
      std::clamp<uint64_t>(options.memory_bytes / kWorkerBytes, 1, cores_or(options.threads)));
}

}  // namespace

fs::path archive_temporary(const fs::path& path) {
  return path.parent_path() / fmt::format(".ckpt-{}.partial", path.filename().string());
}

Result<ArchiveWritten> write_archive(const fs::path& folder, const std::vector<FileDigest>& files,
                                     const fs::path& out, const Console& console,
                                     const ArchiveOptions& options) {
  for (const FileDigest& file : files) {  // `verify` would reject the archive
    auto name = unpacked_name(file.name, "the file");
    if (!name) name.error().code = ErrorCode::kUsage;
    CKPT_TRY(in(out.string(), std::move(name)));
  }
  Tar tar(folder, files);
  const uint64_t count = divide_up(tar.size_bytes(), kFrameBytes);
  CKPT_ASSIGN(AppendFile file, AppendFile::create(out, options.force));
  const unsigned workers = worker_count(options);
  std::vector<std::vector<std::byte>> contents(workers);
  std::vector<CompressedFrame> made(workers);
  std::vector<Frame> frames;
  ProgressLine progress(console, "archiving");
  const auto make = [&](size_t worker, size_t i) -> Status {
    CKPT_TRY(check_not_interrupted(&interrupted));
    const uint64_t offset = i * kFrameBytes;
    contents[worker].resize(std::min(kFrameBytes, tar.size_bytes() - offset));
    CKPT_TRY(tar.read(offset, contents[worker]));
    CKPT_ASSIGN(made[worker], compress_frame(contents[worker]));
    return {};
  };
  const auto take = [&](size_t worker, size_t i) -> Status {
    CKPT_TRY(tar.check(contents[worker]));
    frames.push_back(made[worker].frame);
    progress.advanced(std::min((i + 1) * kFrameBytes, tar.size_bytes()), tar.size_bytes());
    return file.add(std::as_bytes(std::span(made[worker].bytes)));
  };
  CKPT_TRY(for_each_in_order(count, workers, {make, take}));
  const std::string table = render_seek_table(frames);
  CKPT_TRY(file.add(std::as_bytes(std::span(table))));
  ArchiveWritten written{{}, file.size_bytes(), tar.size_bytes()};
  CKPT_ASSIGN(written.sha256, file.publish());
  return written;
}

}  // namespace ckpt
