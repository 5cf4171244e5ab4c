// Reads an archive. If a seek table lists frames that fit into memory, many threads decompress
// them; otherwise one thread reads from front to end. Members of the tar are read in order.
#include <algorithm>

#include "core/base/threads.h"
#include "core/chunks/in_order.h"
#include "tools/line/commands.h"
#include "tools/published/archive.h"

namespace ckpt {
namespace {

constexpr uint64_t kReadBytes = 4 << 20;
// Larger frames are read as a stream.
constexpr uint32_t kMaxFrameBytes = 64 << 20;
constexpr uint64_t kContextBytes = 1 << 20;

// A frame at its place in the file.
struct PlacedFrame {
  Frame frame;
  uint64_t offset_bytes;
};

Result<std::vector<PlacedFrame>> read_seek_table(const ByteSource& source) {
  const uint64_t file_bytes = source.size_bytes();
  if (file_bytes < kSeekFooterBytes) return std::vector<PlacedFrame>{};
  std::vector<std::byte> bytes(kSeekFooterBytes);
  CKPT_TRY(source.read(file_bytes - kSeekFooterBytes, bytes));
  CKPT_ASSIGN(const uint64_t table_bytes, seek_table_bytes(bytes, file_bytes));
  if (table_bytes == 0) return std::vector<PlacedFrame>{};
  bytes.resize(table_bytes);
  CKPT_TRY(source.read(file_bytes - table_bytes, bytes));
  CKPT_ASSIGN(const auto frames, parse_seek_table(bytes, file_bytes));
  std::vector<PlacedFrame> out;
  uint64_t at = 0;
  for (const Frame& frame : frames) {
    out.push_back({frame, at});
    at += frame.compressed_bytes;
  }
  return out;
}

// The memory that the largest frame takes; 0: a frame is too large to be read in one piece.
uint64_t worker_bytes(const std::vector<PlacedFrame>& frames, uint64_t memory_bytes) {
  uint64_t most = 0;
  for (const PlacedFrame& placed : frames) {
    const Frame& frame = placed.frame;
    if (std::max(frame.compressed_bytes, frame.size_bytes) > kMaxFrameBytes) return 0;
    most = std::max(most, uint64_t{frame.compressed_bytes} + frame.size_bytes + kContextBytes);
  }
  return most > memory_bytes ? 0 : most;
}

Status read_frames(const ByteSource& source, const std::vector<PlacedFrame>& frames,
                   unsigned workers, const ZstdStream::Out& out) {
  std::vector<std::vector<std::byte>> compressed(workers), contents(workers);
  const auto make = [&](size_t worker, size_t i) -> Status {
    CKPT_TRY(check_not_interrupted(&interrupted));
    const Frame& frame = frames[i].frame;
    compressed[worker].resize(frame.compressed_bytes);
    contents[worker].resize(frame.size_bytes);
    CKPT_TRY(source.read(frames[i].offset_bytes, compressed[worker]));
    return in(fmt::format("frame {}", i),
              decompress_frame(compressed[worker], frame, contents[worker]));
  };
  const auto take = [&](size_t worker, size_t) -> Status { return out(contents[worker]); };
  return for_each_in_order(frames.size(), workers, {make, take});
}

Status read_stream(const ByteSource& source, const ZstdStream::Out& out) {
  ZstdStream stream(source.size_bytes());
  std::vector<std::byte> bytes;
  for (uint64_t at = 0; at < source.size_bytes(); at += kReadBytes) {
    CKPT_TRY(check_not_interrupted(&interrupted));
    bytes.resize(std::min(kReadBytes, source.size_bytes() - at));
    CKPT_TRY(source.read(at, bytes));
    CKPT_TRY(stream.add(bytes, out));
  }
  return stream.finish();
}

}  // namespace

bool is_archive(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const auto source = open_file(path);
  std::byte magic[4];
  if (!source || !(*source)->read(0, magic)) return false;
  const auto byte = [&](size_t i) { return std::to_integer<unsigned>(magic[i]); };
  const unsigned high = byte(1) << 16 | byte(2) << 8 | byte(3);
  return (byte(0) == 0x28 && high == 0xB52FFD) || (byte(0) >> 4 == 5 && high == 0x2A4D18);
}

Status read_archive(const ByteSource& source, TarSink& sink, const Console& console,
                    const ArchiveOptions& options) {
  const auto read = [&]() -> Status {
    CKPT_ASSIGN(const auto frames, read_seek_table(source));
    TarReader reader(sink);
    ProgressLine progress(console, options.doing);
    uint64_t done_bytes = 0, all_bytes = 0;
    for (const PlacedFrame& placed : frames) all_bytes += placed.frame.size_bytes;
    const auto take = [&](std::span<const std::byte> bytes) -> Status {
      if (all_bytes != 0) progress.advanced(done_bytes += bytes.size(), all_bytes);
      return reader.add(bytes);
    };
    const uint64_t each_bytes = worker_bytes(frames, options.memory_bytes);
    if (each_bytes == 0) {
      CKPT_TRY(read_stream(source, take));
    } else {
      const uint64_t workers =
          std::clamp<uint64_t>(options.memory_bytes / each_bytes, 1, cores_or(options.threads));
      CKPT_TRY(read_frames(source, frames, static_cast<unsigned>(workers), take));
    }
    return reader.finish();
  };
  Status status = read();
  // Errors of the disk or the sink already name a file.
  if (status || status.error().code == ErrorCode::kIo) return status;
  return in(source.name(), std::move(status));
}

}  // namespace ckpt
