// Writes an archive: the places of all bytes in the tar are known before the first is read, so any
// thread makes any frame.
#include <algorithm>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "core/base/arithmetic.h"
#include "core/base/sha256.h"
#include "core/chunks/in_order.h"
#include "core/io/append_file.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// A frame's content, its compressed bytes and what zstd needs for them.
constexpr uint64_t kWorkerBytes = 3 * kFrameBytes;

// A member at its place in the tar: header, content, zeros.
struct Placed {
  TarMember member;
  std::string header;
  uint64_t offset_bytes = 0;
};

class Tar {
 public:
  Tar(fs::path folder, const std::vector<FileDigest>& files) : folder_(std::move(folder)) {
    std::map<std::string, TarMember> members;  // by name; a folder's ends in '/'
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

  // Takes what goes into the archive, in order. Fails: kIo at the end of a file whose bytes are not
  // those that were hashed, and that sums and signature speak of.
  Status check(std::span<const std::byte> bytes) {
    const uint64_t end = checked_bytes_ + bytes.size();
    for (; checked_ < placed_.size(); ++checked_) {
      const Placed& placed = placed_[checked_];
      const uint64_t content = placed.offset_bytes + placed.header.size();
      const auto [first, count] =
          overlap(content, placed.member.size_bytes, checked_bytes_, bytes.size());
      if (count > 0) hash_.add(bytes.subspan(first - checked_bytes_, count));
      if (end < content + placed.member.size_bytes) break;
      const std::string digest = std::exchange(hash_, Sha256()).finish();
      if (placed.member.is_folder || digest == digests_.at(placed.member.name)) continue;
      return fail(ErrorCode::kIo, "{}: was changed while it was published",
                  (folder_ / placed.member.name).string());
    }
    checked_bytes_ = end;
    return {};
  }

  // Fills `out` from `offset_bytes` of the tar on.
  Status read(uint64_t offset_bytes, std::span<std::byte> out) const {
    std::fill(out.begin(), out.end(), std::byte{0});
    const uint64_t end = offset_bytes + out.size();
    auto at = std::upper_bound(
        placed_.begin(), placed_.end(), offset_bytes,
        [](uint64_t offset, const Placed& placed) { return offset < placed.offset_bytes; });
    if (at != placed_.begin()) --at;
    for (; at != placed_.end() && at->offset_bytes < end; ++at) {
      CKPT_TRY(read_member(*at, offset_bytes, out));
    }
    return {};
  }

 private:
  Status read_member(const Placed& placed, uint64_t offset_bytes, std::span<std::byte> out) const {
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
  std::vector<Placed> placed_;
  std::map<std::string, std::string> digests_;  // of files, by name
  uint64_t size_bytes_ = 0;
  size_t checked_ = 0;  // members
  uint64_t checked_bytes_ = 0;
  Sha256 hash_;  // of the next one
};

unsigned worker_count(const ArchiveOptions& options) {
  const unsigned cores =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::clamp<uint64_t>(options.memory_bytes / kWorkerBytes, 1, cores));
}

}  // namespace

Result<ArchiveWritten> write_archive(const fs::path& folder, const std::vector<FileDigest>& files,
                                     const fs::path& out, const Console& console,
                                     const ArchiveOptions& options) {
  Tar tar(folder, files);
  const uint64_t count = divide_up(tar.size_bytes(), kFrameBytes);
  CKPT_ASSIGN(AppendFile file, AppendFile::create(out, options.force));
  const unsigned workers = worker_count(options);
  std::vector<std::vector<std::byte>> contents(workers);
  std::vector<CompressedFrame> made(workers);
  std::vector<Frame> frames;
  ProgressLine progress(console, "archiving");
  const auto make = [&](size_t worker, size_t i) -> Status {
    if (interrupted) return fail(ErrorCode::kInterrupted, "interrupted");
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
  progress.clear();
  const std::string table = render_seek_table(frames);
  CKPT_TRY(file.add(std::as_bytes(std::span(table))));
  ArchiveWritten written{{}, file.size_bytes(), tar.size_bytes()};
  CKPT_ASSIGN(written.sha256, file.publish());
  return written;
}

}  // namespace ckpt
