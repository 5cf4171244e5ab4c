#include "core/readers/zip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace ckpt {
namespace {

constexpr uint64_t kZipEndBytes = 22, kZipEntryBytes = 46, kZipLocalBytes = 30;
constexpr uint64_t kZipLocatorBytes = 20, kZip64EndBytes = 56, kMaxZipCommentBytes = 65535;
constexpr uint64_t kUsualTailBytes = 1024;  // includes the directory's end, if comments are short
constexpr uint64_t kInZip64 = 0xFFFFFFFF, kZipLocator = 0x07064B50;

// Bytes whose numbers are checked before they are read.
class ZipBytes {
 public:
  ZipBytes(std::vector<std::byte> bytes, uint64_t start)
      : bytes_(std::move(bytes)), start_(start) {}

  bool has(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  // Requires: has(at, size).
  uint64_t number(uint64_t at, uint64_t size) const {
    uint64_t out = 0;
    for (uint64_t i = 0; i < size; ++i) out |= uint64_t(bytes_[at + i]) << (8 * i);
    return out;
  }
  std::string text(uint64_t at, uint64_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, size};
  }
  uint64_t size() const { return bytes_.size(); }
  uint64_t place(uint64_t at) const { return start_ + at; }

 private:
  std::vector<std::byte> bytes_;
  uint64_t start_;  // in the file
};

Result<ZipBytes> read_zip_bytes(const Slice& archive, uint64_t start, uint64_t size) {
  std::vector<std::byte> bytes(size);
  CKPT_TRY(archive.source->read(archive.offset_bytes + start, bytes));
  return ZipBytes(std::move(bytes), archive.offset_bytes + start);
}

Failure not_in_zip(const Slice& archive, uint64_t at, std::string_view what) {
  return corrupt("at byte {}: no {}; expected one: the zip of {} bytes is truncated or damaged",
                 archive.offset_bytes + at, what, archive.size_bytes);
}

struct ZipDirectory {
  uint64_t entries = 0, start = 0, size_bytes = 0;
  bool operator==(const ZipDirectory&) const = default;
};

Result<ZipDirectory> read_zip64_end(const Slice& archive, const ZipBytes& tail, uint64_t end) {
  if (end < kZipLocatorBytes || tail.number(end - kZipLocatorBytes, 4) != kZipLocator) {
    return not_in_zip(archive, tail.place(end) - archive.offset_bytes, "zip64 locator before it");
  }
  const uint64_t at = tail.number(end - kZipLocatorBytes + 8, 8);
  if (at > archive.size_bytes || archive.size_bytes - at < kZip64EndBytes) {
    return not_in_zip(archive, at, "zip64 end of the directory");
  }
  CKPT_ASSIGN(const ZipBytes last, read_zip_bytes(archive, at, kZip64EndBytes));
  if (last.number(0, 4) != 0x06064B50) {
    return not_in_zip(archive, at, "zip64 end of the directory");
  }
  return ZipDirectory{last.number(32, 8), last.number(48, 8), last.number(40, 8)};
}

// Returns nothing if the last `tail_bytes` do not include it.
Result<std::optional<ZipDirectory>> directory_in_tail(const Slice& archive, uint64_t tail_bytes) {
  CKPT_ASSIGN(const ZipBytes tail,
              read_zip_bytes(archive, archive.size_bytes - tail_bytes, tail_bytes));
  for (uint64_t at = tail_bytes < kZipEndBytes ? 0 : tail_bytes - kZipEndBytes + 1; at-- > 0;) {
    if (tail.number(at, 4) != 0x06054B50) continue;
    const ZipDirectory out{tail.number(at + 10, 2), tail.number(at + 16, 4),
                           tail.number(at + 12, 4)};
    const bool is_large =
        out.entries == 0xFFFF || out.start == kInZip64 || out.size_bytes == kInZip64;
    const bool has_zip64 =
        at >= kZipLocatorBytes && tail.number(at - kZipLocatorBytes, 4) == kZipLocator;
    if (!is_large && !has_zip64) return std::optional(out);
    CKPT_ASSIGN(const ZipDirectory large, read_zip64_end(archive, tail, at));
    if (is_large || large == out) return std::optional(large);
    return corrupt("at byte {}: the zip has two directories, and programs read one or the other",
                   tail.place(at));
  }
  return std::optional<ZipDirectory>();
}

Result<ZipDirectory> find_zip_directory(const Slice& archive) {
  constexpr uint64_t kLongestTail = kZipEndBytes + kZipLocatorBytes + kMaxZipCommentBytes;
  for (const uint64_t tail_bytes : {kUsualTailBytes, kLongestTail}) {
    CKPT_ASSIGN(const auto found,
                directory_in_tail(archive, std::min(archive.size_bytes, tail_bytes)));
    if (found) return *found;
  }
  return not_in_zip(archive, archive.size_bytes, "end of the directory");
}

// Reads numbers that do not fit 32 bits from an extra field, which has only those, in this order.
void read_zip64_extra(const ZipBytes& bytes, uint64_t at, uint64_t end,
                      const std::array<uint64_t*, 3>& numbers) {
  while (at + 4 <= end) {
    const uint64_t id = bytes.number(at, 2), size = bytes.number(at + 2, 2);
    at += 4;
    if (size > end - at) return;
    uint64_t next = at;
    for (uint64_t* number : numbers) {
      if (id != 1 || *number != kInZip64 || next + 8 > at + size) continue;
      *number = bytes.number(next, 8);
      next += 8;
    }
    if (id == 1) return;
    at += size;
  }
}

using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// Tables for eight bytes at a time.
constexpr CrcTables crc_tables() {
  CrcTables out{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xEDB88320 : 0);
    out[0][i] = value;
  }
  for (size_t k = 1; k < out.size(); ++k) {
    for (size_t i = 0; i < 256; ++i) {
      out[k][i] = out[k - 1][i] >> 8 ^ out[0][out[k - 1][i] & 0xFF];
    }
  }
  return out;
}

uint32_t with_crc(uint32_t crc, std::span<const std::byte> bytes) {
  static constexpr CrcTables kTables = crc_tables();
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t next = 0;
    std::memcpy(&next, bytes.data(), sizeof(next));
    next ^= crc;
    crc = 0;
    for (size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][next >> (8 * k) & 0xFF];
  }
  for (const std::byte byte : bytes) crc = crc >> 8 ^ kTables[0][(crc ^ uint32_t(byte)) & 0xFF];
  return crc;
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(const Slice& archive) {
  CKPT_ASSIGN(const ZipDirectory directory, find_zip_directory(archive));
  const auto [count, start, size_bytes] = directory;
  if (start > archive.size_bytes || size_bytes > archive.size_bytes - start) {
    return not_in_zip(archive, start, fmt::format("directory of {} bytes", size_bytes));
  }
  if (size_bytes > kMaxZipDirectoryBytes) {
    return unsupported("a zip directory of {} bytes; at most {} are read", size_bytes,
                       kMaxZipDirectoryBytes);
  }
  CKPT_ASSIGN(const ZipBytes bytes, read_zip_bytes(archive, start, size_bytes));
  std::vector<ZipEntry> out;
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!bytes.has(at, kZipEntryBytes) || bytes.number(at, 4) != 0x02014B50) {
      return not_in_zip(archive, start + at, "entry of the directory");
    }
    const uint64_t name = bytes.number(at + 28, 2), extra = bytes.number(at + 30, 2);
    const uint64_t name_at = at + kZipEntryBytes;
    if (!bytes.has(name_at, name + extra)) {
      return not_in_zip(archive, start + at, "entry of the directory");
    }
    const bool is_encrypted = (bytes.number(at + 8, 2) & 1) != 0;
    ZipEntry& entry = out.emplace_back(ZipEntry{bytes.text(name_at, name), bytes.number(at + 24, 4),
                                                bytes.number(at + 42, 4), false,
                                                static_cast<uint32_t>(bytes.number(at + 16, 4))});
    uint64_t packed_bytes = bytes.number(at + 20, 4);
    read_zip64_extra(bytes, name_at + name, name_at + name + extra,
                     {&entry.size_bytes, &packed_bytes, &entry.header_bytes});
    entry.is_stored =
        bytes.number(at + 10, 2) == 0 && !is_encrypted && packed_bytes == entry.size_bytes;
    at = name_at + name + extra + bytes.number(at + 32, 2);
  }
  return out;
}

Result<std::vector<ZipEntry>> read_zip_start(std::span<const std::byte> start,
                                             std::string_view last, uint64_t last_bytes) {
  constexpr std::string_view kLocal("PK\3\4"), kDescriptor("PK\7\10");
  const ZipBytes bytes({start.begin(), start.end()}, 0);
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  std::vector<ZipEntry> out;
  for (size_t at = text.find(kLocal); at != text.npos && bytes.has(at, kZipLocalBytes);
       at = text.find(kLocal, at)) {
    const uint64_t name = bytes.number(at + 26, 2), extra = bytes.number(at + 28, 2);
    if (!bytes.has(at + kZipLocalBytes, name + extra)) break;
    const bool is_stored = bytes.number(at + 8, 2) == 0 && (bytes.number(at + 6, 2) & 1) == 0;
    ZipEntry& entry = out.emplace_back(
        ZipEntry{bytes.text(at + kZipLocalBytes, name), last_bytes, at, is_stored});
    if (entry.name.find(last) != entry.name.npos) return out;
    const uint64_t first = at + kZipLocalBytes + name + extra;
    at = text.find(kDescriptor, first);
    if (at == text.npos) break;
    entry.size_bytes = at - first;
  }
  return corrupt("no entry '*{}*' in the first {} bytes; expected a zip of torch.save", last,
                 start.size());
}

Result<Slice> find_zip_entry(const Slice& archive, const ZipEntry& entry) {
  const std::string what = fmt::format("entry '{}' of {} bytes", entry.name, entry.size_bytes);
  if (!entry.is_stored) {
    return unsupported("{} is compressed or encrypted; expected a stored one", what);
  }
  const uint64_t size = archive.size_bytes;
  if (entry.header_bytes > size || size - entry.header_bytes < kZipLocalBytes) {
    return not_in_zip(archive, entry.header_bytes, what);
  }
  CKPT_ASSIGN(const ZipBytes local, read_zip_bytes(archive, entry.header_bytes, kZipLocalBytes));
  const uint64_t start =
      entry.header_bytes + kZipLocalBytes + local.number(26, 2) + local.number(28, 2);
  if (local.number(0, 4) != 0x04034B50 || start > size || entry.size_bytes > size - start) {
    return not_in_zip(archive, entry.header_bytes, what);
  }
  return Slice{archive.source, archive.offset_bytes + start, entry.size_bytes};
}

Result<bool> check_zip_sum(const Slice& bytes, const ZipEntry& entry) {
  constexpr uint64_t kBytesAtATime = 1 << 20;
  if (entry.sum == 0 && bytes.size_bytes != 0) return false;
  std::vector<std::byte> read(std::min(kBytesAtATime, bytes.size_bytes));
  uint32_t crc = ~uint32_t{0};
  for (uint64_t at = 0; at < bytes.size_bytes; at += read.size()) {
    read.resize(std::min<uint64_t>(read.size(), bytes.size_bytes - at));
    CKPT_TRY(bytes.source->read(bytes.offset_bytes + at, read));
    crc = with_crc(crc, read);
  }
  if (~crc == entry.sum) return true;
  return corrupt("entry '{}' has the CRC-32 {:08x}; expected {:08x}", entry.name, ~crc, entry.sum);
}

}  // namespace ckpt
