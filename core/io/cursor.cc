#include "core/io/cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/arithmetic.h"

namespace ckpt {
namespace {

// Windows grow: most shards' headers fit into the first one, so a server sends no more than that.
constexpr uint64_t kFirstWindowBytes = 16 << 10, kWindowBytes = 64 << 10;
constexpr char kHint[] = "downloading it again";

static_assert(std::endian::native == std::endian::little, "files are little-endian");

}  // namespace

Cursor::Cursor(SharedSource source, uint64_t offset_bytes, uint64_t size_bytes)
    : source_(std::move(source)) {
  const uint64_t total = source_->size_bytes();
  position_ = std::min(offset_bytes, total);
  end_ = position_ + std::min(size_bytes, total - position_);
  window_start_ = position_;
}

Cursor::Cursor(SharedSource source) : source_(std::move(source)), position_(0) {
  end_ = source_->size_bytes();
}

Failure Cursor::ends_early(uint64_t size_bytes) const {
  return corrupt_hint(kHint, "at byte {}: {} bytes are left; expected {}: the file is truncated",
                      position_, left_bytes(), size_bytes);
}

Status Cursor::take(std::span<std::byte> out) {
  if (out.size() > left_bytes()) return ends_early(out.size());
  if (out.size() >= kWindowBytes) {
    CKPT_TRY(source_->read(position_, out));
    position_ += out.size();
    return {};
  }
  const bool inside =
      position_ >= window_start_ && position_ + out.size() <= window_start_ + window_.size();
  if (!inside) {
    const uint64_t wanted =
        std::clamp<uint64_t>(2 * window_.size(), kFirstWindowBytes, kWindowBytes);
    window_.resize(std::min(std::max<uint64_t>(out.size(), wanted), left_bytes()));
    window_start_ = position_;
    CKPT_TRY(source_->read(position_, window_));
  }
  if (!out.empty()) {
    std::memcpy(out.data(), window_.data() + (position_ - window_start_), out.size());
  }
  position_ += out.size();
  return {};
}

Result<uint64_t> Cursor::checked_count(uint64_t at, uint64_t found, uint64_t min_bytes_each,
                                       uint64_t limit) const {
  if (found > limit) {
    return corrupt("at byte {}: a count of {}; expected at most {}", at, found, limit);
  }
  const auto needed = multiply(found, min_bytes_each);
  if (!needed || *needed > left_bytes()) {
    return corrupt_hint(kHint,
                        "at byte {}: a count of {}, each of {} bytes or more; only {} bytes are "
                        "left: the file is truncated",
                        at, found, min_bytes_each, left_bytes());
  }
  return found;
}

Result<uint64_t> Cursor::count_u64(uint64_t min_bytes_each, uint64_t limit) {
  const uint64_t at = position_;
  CKPT_ASSIGN(const uint64_t found, u64());
  return checked_count(at, found, min_bytes_each, limit);
}

Result<uint64_t> Cursor::count_u32(uint64_t min_bytes_each, uint64_t limit) {
  const uint64_t at = position_;
  CKPT_ASSIGN(const uint32_t found, u32());
  return checked_count(at, found, min_bytes_each, limit);
}

Result<std::vector<std::byte>> Cursor::bytes(uint64_t size_bytes) {
  // Checked before allocating the buffer; take() would check too late.
  if (size_bytes > left_bytes()) return ends_early(size_bytes);
  std::vector<std::byte> out(size_bytes);
  CKPT_TRY(take(out));
  return out;
}

Result<std::string> Cursor::text_u64(uint64_t limit_bytes) {
  CKPT_ASSIGN(const uint64_t length, u64());
  if (length > limit_bytes) {
    return corrupt("at byte {}: a text of {} bytes; expected at most {}",
                   position_ - sizeof(uint64_t), length, limit_bytes);
  }
  return text(length);
}

Result<std::string> Cursor::text(uint64_t size_bytes) {
  if (size_bytes > left_bytes()) {
    return corrupt_hint(
        kHint, "at byte {}: a text of {} bytes; only {} bytes are left: the file is truncated",
        position_, size_bytes, left_bytes());
  }
  std::string out(size_bytes, '\0');
  CKPT_TRY(take(std::as_writable_bytes(std::span<char>(out))));
  return out;
}

Status Cursor::skip(uint64_t size_bytes) {
  if (size_bytes > left_bytes()) return ends_early(size_bytes);
  position_ += size_bytes;
  return {};
}

}  // namespace ckpt
