// Makes and reads independent zstd frames and the table of their start positions:
//
//   0x184D2A5E 4 | size of the rest 4 | entries | number of entries 4 | flags 1 | 0x8F92EAB1 4
//   entry:  compressed bytes 4 | bytes 4 | checksum 4, when bit 7 of the flags is set
//
// The checksum is the one at the end of a frame whose header announces it: the low half of the
// content's XXH64. Source: facebook/zstd contrib/seekable_format and
// doc/zstd_compression_format.md.
#include <zstd.h>
#include <zstd_errors.h>

#include "publish/archive.h"

namespace ckpt {
namespace {

constexpr uint32_t kSkippableMagic = 0x184D2A5E, kSeekableMagic = 0x8F92EAB1;
constexpr unsigned kHasChecksums = 0x80, kReservedFlags = 0x7C;
constexpr uint64_t kSkippableHeaderBytes = 8;
constexpr size_t kChecksumBytes = 4;
constexpr int kLevel = 3;  // weights have few matches: higher levels are slow without gain
constexpr size_t kStreamBytes = 256 << 10;
constexpr uint64_t kLargeFileBytes = 64 << 20;
constexpr int kMaxWindowLog = 26, kMaxWindowLogOfLarge = 27;

void append_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

uint32_t read_u32(std::span<const std::byte> bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

Failure zstd_failure(size_t code) {
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation: return fail(ErrorCode::kIo, "no memory for zstd");
    case ZSTD_error_frameParameter_windowTooLarge:
      return unsupported_hint("zstd -d on the archive, then zstd -19",
                              "a zstd window too large for a file of this size");
    default:
      return corrupt("damaged zstd data: {}", ZSTD_getErrorName(code));
  }
}

}  // namespace

// Not a lambda type, because a member of ZstdStream::State uses it.
struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

Result<CompressedFrame> compress_frame(std::span<const std::byte> content) {
  // Each frame gets a new context, so that no earlier frame can influence its bytes.
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  if (!context) return fail(ErrorCode::kIo, "no memory for zstd");
  const std::pair<ZSTD_cParameter, int> wanted[] = {{ZSTD_c_compressionLevel, kLevel},
                                                    {ZSTD_c_enableLongDistanceMatching, 1},
                                                    {ZSTD_c_checksumFlag, 1}};
  for (const auto& [parameter, value] : wanted) {
    const size_t set = ZSTD_CCtx_setParameter(context.get(), parameter, value);
    if (ZSTD_isError(set)) return zstd_failure(set);
  }
  CompressedFrame out;
  out.bytes.resize(ZSTD_compressBound(content.size()));
  const size_t size = ZSTD_compress2(context.get(), out.bytes.data(), out.bytes.size(),
                                     content.data(), content.size());
  if (ZSTD_isError(size)) return zstd_failure(size);
  out.bytes.resize(size);
  const auto bytes = std::as_bytes(std::span(out.bytes));
  out.frame = {static_cast<uint32_t>(size), static_cast<uint32_t>(content.size()),
               read_u32(bytes, size - kChecksumBytes)};
  return out;
}

std::string render_seek_table(const std::vector<Frame>& frames) {
  std::string rest;
  for (const Frame& frame : frames) {
    append_u32(rest, frame.compressed_bytes);
    append_u32(rest, frame.size_bytes);
    append_u32(rest, frame.checksum.value_or(0));
  }
  append_u32(rest, static_cast<uint32_t>(frames.size()));
  rest += static_cast<char>(kHasChecksums);
  append_u32(rest, kSeekableMagic);
  std::string out;
  append_u32(out, kSkippableMagic);
  append_u32(out, static_cast<uint32_t>(rest.size()));
  return out + rest;
}

Result<uint64_t> seek_table_bytes(std::span<const std::byte> footer, uint64_t file_bytes) {
  if (footer.size() != kSeekFooterBytes || read_u32(footer, 5) != kSeekableMagic) return 0;
  const auto flags = std::to_integer<unsigned>(footer[4]);
  if ((flags & kReservedFlags) != 0) {
    return unsupported("a seek table with unknown flags {:#04x}", flags);
  }
  const uint64_t entry_bytes = (flags & kHasChecksums) != 0 ? 12 : 8;
  const uint64_t table_bytes =
      kSkippableHeaderBytes + read_u32(footer, 0) * entry_bytes + kSeekFooterBytes;
  if (table_bytes <= file_bytes) return table_bytes;
  return corrupt("a seek table of {} bytes in a file of {}", table_bytes, file_bytes);
}

Result<std::vector<Frame>> parse_seek_table(std::span<const std::byte> table, uint64_t file_bytes) {
  const auto footer = table.last(kSeekFooterBytes);
  const bool has_checksums = (std::to_integer<unsigned>(footer[4]) & kHasChecksums) != 0;
  if (read_u32(table, 0) != kSkippableMagic ||
      read_u32(table, 4) != table.size() - kSkippableHeaderBytes) {
    return corrupt("the seek table is not a skippable frame of its size");
  }
  std::vector<Frame> frames(read_u32(footer, 0));
  uint64_t all_bytes = table.size();
  size_t at = kSkippableHeaderBytes;
  for (Frame& frame : frames) {
    frame = {read_u32(table, at), read_u32(table, at + 4), std::nullopt};
    if (has_checksums) frame.checksum = read_u32(table, at + 8);
    at += has_checksums ? 12 : 8;
    all_bytes += frame.compressed_bytes;
  }
  if (all_bytes == file_bytes) return frames;
  return corrupt("the seek table tells of {} bytes; the file has {}", all_bytes, file_bytes);
}

Status decompress_frame(std::span<const std::byte> bytes, const Frame& frame,
                        std::span<std::byte> out) {
  const size_t own_bytes = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
  if (ZSTD_isError(own_bytes)) return zstd_failure(own_bytes);
  if (own_bytes != bytes.size()) {
    return corrupt("a frame of {} bytes; the seek table says {}", own_bytes, bytes.size());
  }
  const size_t got = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall) {
    return corrupt("a frame that holds more than the seek table's {} bytes", out.size());
  }
  if (ZSTD_isError(got)) return zstd_failure(got);
  if (got != out.size()) {
    return corrupt("a frame that holds {} bytes; the seek table says {}", got, out.size());
  }
  constexpr size_t kDescriptorAt = 4;  // in a frame; bit 2: ends in a checksum
  const bool ends_in_checksum = read_u32(bytes, 0) == ZSTD_MAGICNUMBER &&
                                (std::to_integer<unsigned>(bytes[kDescriptorAt]) & 4) != 0;
  if (frame.checksum && ends_in_checksum &&
      read_u32(bytes, bytes.size() - kChecksumBytes) != *frame.checksum) {
    return corrupt("a frame whose checksum is not the seek table's");
  }
  return {};
}

struct ZstdStream::State {
  std::unique_ptr<ZSTD_DCtx, FreeContext> context{ZSTD_createDCtx()};
  std::vector<std::byte> out = std::vector<std::byte>(kStreamBytes);
  bool is_inside = false;  // within a frame
};

ZstdStream::ZstdStream(uint64_t file_bytes) : state_(std::make_unique<State>()) {
  if (!state_->context) return;
  ZSTD_DCtx_setParameter(state_->context.get(), ZSTD_d_windowLogMax,
                         file_bytes < kLargeFileBytes ? kMaxWindowLog : kMaxWindowLogOfLarge);
}
ZstdStream::~ZstdStream() = default;

Status ZstdStream::add(std::span<const std::byte> bytes, const Out& out) {
  if (!state_->context) return fail(ErrorCode::kIo, "no memory for zstd");
  ZSTD_inBuffer from{bytes.data(), bytes.size(), 0};
  bool is_full = false;  // more output may follow
  while (from.pos < from.size || is_full) {
    ZSTD_outBuffer to{state_->out.data(), state_->out.size(), 0};
    const size_t left = ZSTD_decompressStream(state_->context.get(), &to, &from);
    if (ZSTD_isError(left)) return zstd_failure(left);
    state_->is_inside = left != 0;
    is_full = state_->is_inside && to.pos == to.size;
    if (to.pos != 0) CKPT_TRY(out(std::span(state_->out).first(to.pos)));
  }
  return {};
}

Status ZstdStream::finish() const {
  if (!state_->is_inside) return {};
  return corrupt("the file ends inside a zstd frame");
}

}  // namespace ckpt
