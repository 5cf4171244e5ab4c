#include "core/computed/joined_source.h"

#include "core/computed/computed_source.h"
#include "core/computed/gather.h"

namespace ckpt {
namespace {

class JoinedSource final : public ComputedSource {
 public:
  explicit JoinedSource(std::vector<Slice> slices) : slices_(std::move(slices)), index_(slices_) {}

  Status read(uint64_t offset_bytes, std::span<std::byte> out) const override {
    CKPT_TRY(check_range(offset_bytes, out.size()));
    for (const SliceIndex::Piece& piece : index_.pieces(offset_bytes, out.size())) {
      CKPT_TRY(piece.source->read(piece.offset_bytes,
                                  out.subspan(piece.target_bytes, piece.size_bytes)));
    }
    return {};
  }
  uint64_t size_bytes() const override { return index_.size_bytes(); }
  uint64_t own_scratch_bytes(uint64_t /*size_bytes*/) const override { return 0; }
  const std::string& name() const override { return slices_[0].source->name(); }
  Kind kind() const override { return Kind::kJoined; }
  void each_input(const TakeInput& take) const override {
    for (const Slice& slice : slices_) take(slice);
  }
  std::string operation() const override { return "join"; }

 private:
  std::vector<Slice> slices_;
  SliceIndex index_;
};

}  // namespace

Slice joined(const std::vector<Slice>& slices) {
  if (slices.empty()) return entire(make_blob("no bytes", {}));
  if (slices.size() == 1) return slices[0];
  const auto source = std::make_shared<const JoinedSource>(slices);
  return {source, 0, source->size_bytes()};
}

}  // namespace ckpt
