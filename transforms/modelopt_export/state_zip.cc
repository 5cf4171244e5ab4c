// One stored entry of a zip, as torch.save writes it.
//
//   local header (30 + name + extra) | bytes | ... | central directory (46 + name + extra + comment
//   each) | [zip64 end | zip64 locator] | end of central directory (22 + comment)
//
// Source: PKWARE APPNOTE.TXT 6.3. The local header's extra field is not as long as the directory's,
// so the bytes begin where the local header says.
#include <cstdint>

#include "transforms/modelopt_export/state.h"

namespace ckpt {
namespace {

constexpr uint64_t kEndBytes = 22, kEntryBytes = 46, kLocalBytes = 30, kLocatorBytes = 20;
constexpr uint64_t kZip64EndBytes = 56, kMaxCommentBytes = 65535;
constexpr std::string_view kInDirectory = "entry of the directory";

class Zip {
 public:
  explicit Zip(std::string_view bytes) : bytes_(bytes) {}

  Result<std::string_view> find(std::string_view ending) {
    CKPT_TRY(find_directory());
    uint64_t at = directory_;
    for (uint64_t i = 0; i < entries_; ++i) {
      if (!has(at, kEntryBytes) || number(at, 4) != 0x02014B50) return missing(at, kInDirectory);
      const uint64_t name_bytes = number(at + 28, 2);
      if (!has(at + kEntryBytes, name_bytes)) return missing(at, kInDirectory);
      if (bytes_.substr(at + kEntryBytes, name_bytes).ends_with(ending)) return entry(at);
      at += kEntryBytes + name_bytes + number(at + 30, 2) + number(at + 32, 2);
    }
    return fail(ErrorCode::kCorrupt, "a zip of {} entries; none is called '*{}'", entries_, ending);
  }

 private:
  Failure missing(uint64_t at, std::string_view what) const {
    return fail(ErrorCode::kCorrupt,
                "at byte {}: no {}; expected one: the zip of {} bytes is truncated or damaged", at,
                what, bytes_.size());
  }
  bool has(uint64_t at, uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  // Requires: has(at, size).
  uint64_t number(uint64_t at, uint64_t size) const {
    uint64_t out = 0;
    for (uint64_t i = 0; i < size; ++i) {
      out |= uint64_t{static_cast<uint8_t>(bytes_[at + i])} << (8 * i);
    }
    return out;
  }

  Status find_directory() {
    if (!bytes_.starts_with("PK\x03\x04") || bytes_.size() < kEndBytes) {
      return fail(ErrorCode::kCorrupt, "not a zip");
    }
    const uint64_t last = bytes_.size() - kEndBytes;
    for (uint64_t back = 0; back <= kMaxCommentBytes && back <= last; ++back) {
      const uint64_t at = last - back;
      if (number(at, 4) != 0x06054B50) continue;
      entries_ = number(at + 10, 2);
      directory_ = number(at + 16, 4);
      return entries_ == 0xFFFF || directory_ == 0xFFFFFFFF ? find_zip64(at) : Status();
    }
    return missing(bytes_.size(), "end of the directory");
  }
  Status find_zip64(uint64_t end) {
    if (end < kLocatorBytes || number(end - kLocatorBytes, 4) != 0x07064B50) {
      return missing(end, "zip64 locator before it");
    }
    const uint64_t at = number(end - kLocatorBytes + 8, 8);
    if (!has(at, kZip64EndBytes) || number(at, 4) != 0x06064B50) {
      return missing(at, "zip64 end of the directory");
    }
    entries_ = number(at + 32, 8);
    directory_ = number(at + 48, 8);
    return {};
  }

  Result<std::string_view> entry(uint64_t at) const {
    const uint64_t method = number(at + 10, 2), size = number(at + 24, 4);
    if (method != 0 || size == 0xFFFFFFFF) {
      return fail(ErrorCode::kUnsupported,
                  "a zip entry of {} bytes, compressed by method {}; "
                  "expected a stored one",
                  size, method);
    }
    const uint64_t local = number(at + 42, 4);
    if (!has(local, kLocalBytes) || number(local, 4) != 0x04034B50) {
      return missing(local, "header of an entry");
    }
    const uint64_t start = local + kLocalBytes + number(local + 26, 2) + number(local + 28, 2);
    if (!has(start, size)) return missing(start, fmt::format("entry of {} bytes", size));
    return bytes_.substr(start, size);
  }

  std::string_view bytes_;
  uint64_t entries_ = 0, directory_ = 0;
};

}  // namespace

Result<std::string_view> find_in_zip(std::string_view zip, std::string_view ending) {
  return Zip(zip).find(ending);
}

}  // namespace ckpt
