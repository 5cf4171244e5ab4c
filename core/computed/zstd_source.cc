// A read that begins before the place of every open decoder decodes the stream from its start.
// Threads read chunks nearly in order, so a few decoders for each stream suffice.
#include "core/computed/zstd_source.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "core/computed/computed_source.h"

namespace ckpt {
namespace {

constexpr uint64_t kPackedBytes = 128 << 10, kSkippedBytes = 128 << 10;
constexpr uint64_t kFrameWindowBytes = 8 << 20;  // of the usual levels
constexpr size_t kMostDecoders = 4;

class ZstdDecoder {
 public:
  explicit ZstdDecoder(const Slice& packed) : packed_(packed) {}

  uint64_t position() const { return position_; }

  // Decodes up to out.size() bytes; fewer if the stream ends.
  Result<uint64_t> read_some(std::span<std::byte> out) {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos < to.size) {
      const bool is_read = from_.pos == from_.size && taken_ == packed_.size_bytes;
      if (from_.pos == from_.size && !is_read) CKPT_TRY(read_packed());
      const size_t before = to.pos;
      const size_t code = ZSTD_decompressStream(context_.get(), &to, &from_);
      if (ZSTD_isError(code)) return corrupt("damaged zstd data: {}", ZSTD_getErrorName(code));
      if (is_read && to.pos == before) break;
    }
    position_ += to.pos;
    return to.pos;
  }

  Status fill(std::span<std::byte> out) {
    CKPT_ASSIGN(const uint64_t found, read_some(out));
    if (found == out.size()) return {};
    return corrupt("the zstd stream ends {} bytes early", out.size() - found);
  }

  Status skip_to(uint64_t offset_bytes) {
    std::vector<std::byte> skipped;
    while (position_ < offset_bytes) {
      skipped.resize(std::min(kSkippedBytes, offset_bytes - position_));
      CKPT_TRY(fill(skipped));
    }
    return {};
  }

 private:
  Status read_packed() {
    buffer_.resize(std::min(kPackedBytes, packed_.size_bytes - taken_));
    CKPT_TRY(packed_.source->read(packed_.offset_bytes + taken_, buffer_));
    taken_ += buffer_.size();
    from_ = {buffer_.data(), buffer_.size(), 0};
    return {};
  }

  Slice packed_;
  uint64_t taken_ = 0, position_ = 0;  // bytes of the stream, decoded bytes
  std::vector<std::byte> buffer_;
  ZSTD_inBuffer from_{nullptr, 0, 0};
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_{ZSTD_createDCtx(), &ZSTD_freeDCtx};
};

class ZstdSource final : public ComputedSource {
 public:
  ZstdSource(Slice packed, uint64_t size_bytes)
      : packed_(std::move(packed)), size_bytes_(size_bytes) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    CKPT_TRY(check_range(offset_bytes, out.size()));
    std::unique_ptr<ZstdDecoder> decoder = take_decoder(offset_bytes);
    CKPT_TRY(decoder->skip_to(offset_bytes));
    CKPT_TRY(decoder->fill(out));
    const std::lock_guard lock(mutex_);
    const bool is_kept = decoder->position() < size_bytes_ && decoders_.size() < kMostDecoders;
    if (is_kept) decoders_.push_back(std::move(decoder));
    return {};
  }
  uint64_t size_bytes() const override { return size_bytes_; }
  const std::string& name() const override { return packed_.source->name(); }
  Kind kind() const override { return Kind::kZstd; }
  void each_input(const TakeInput& take) const override { take(packed_); }
  std::string operation() const override { return fmt::format("zstd {}", size_bytes_); }
  uint64_t own_scratch_bytes(uint64_t /*size_bytes*/) const override {
    return kFrameWindowBytes + kPackedBytes + kSkippedBytes;
  }

 private:
  // The decoder that is nearest before `offset_bytes`, or a new one.
  std::unique_ptr<ZstdDecoder> take_decoder(uint64_t offset_bytes) const {
    const std::lock_guard lock(mutex_);
    auto nearest = decoders_.end();
    for (auto each = decoders_.begin(); each != decoders_.end(); ++each) {
      const uint64_t at = (*each)->position();
      const bool is_nearer = nearest == decoders_.end() || at > (*nearest)->position();
      if (at <= offset_bytes && is_nearer) nearest = each;
    }
    if (nearest == decoders_.end()) return std::make_unique<ZstdDecoder>(packed_);
    std::unique_ptr<ZstdDecoder> out = std::move(*nearest);
    decoders_.erase(nearest);
    return out;
  }

  Slice packed_;
  uint64_t size_bytes_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ZstdDecoder>> decoders_;
};

}  // namespace

Result<std::vector<std::byte>> zstd_start(const Slice& packed, uint64_t most_bytes) {
  std::vector<std::byte> out(most_bytes);
  CKPT_ASSIGN(const uint64_t found, ZstdDecoder(packed).read_some(out));
  out.resize(found);
  return out;
}

SharedSource zstd_content(Slice packed, uint64_t size_bytes) {
  return std::make_shared<const ZstdSource>(std::move(packed), size_bytes);
}

}  // namespace ckpt
