#include "core/computed/row_change.h"

#include <bit>
#include <mutex>

namespace ckpt {
namespace {

constexpr uint64_t kMaxHeldValues = uint64_t{1} << 28;  // 1 GiB

class RowChangeSource final : public MergedSource {
 public:
  RowChangeSource(Tensor base, RowChange change, LowRankProduct product, uint64_t first)
      : MergedSource(std::move(base)),
        change_(std::move(change)),
        product_(product),
        first_(first) {}

  void each_input(const TakeInput& take) const override {
    each_slice(base_, take);
    for (const Tensor& factor : change_.factors) each_slice(factor, take);
  }

  std::string operation() const override {
    std::string out = fmt::format("{} of {} from {}", change_.method, described(base_), first_);
    for (const double number : change_.numbers) {
      out += fmt::format(" {:016x}", std::bit_cast<uint64_t>(number));
    }
    for (const Tensor& factor : change_.factors) out += " " + described(factor);
    return out;
  }

  Result<Tensor> changed(const Tensor& rows, uint64_t first) const override {
    return stored_in(
        rows, std::make_shared<const RowChangeSource>(rows, change_, product_, first_ + first));
  }

 private:
  using SharedHeld = std::shared_ptr<const RowChange::Held>;

  Result<SharedHeld> factors() const {
    const std::lock_guard lock(mutex_);
    if (SharedHeld held = held_.lock()) return held;
    auto made = std::make_shared<RowChange::Held>();
    made->numbers = change_.numbers;
    made->product = product_;
    for (const Tensor& factor : change_.factors) {
      CKPT_TRY(read_floats(factor, 0, made->factors.emplace_back(factor.values())));
    }
    if (change_.prepare != nullptr) change_.prepare(*made);
    held_ = made;
    return made;
  }

  Result<std::shared_ptr<const void>> hold() const override { return factors(); }

  Status change(uint64_t first, FloatRows values) const override {
    CKPT_ASSIGN(const SharedHeld held, factors());
    change_.apply(*held, first_ + first, values);
    return {};
  }

  // Counts the factors as stored and as floats.
  uint64_t change_bytes(uint64_t strip_values) const override {
    uint64_t values = 3 * strip_values + change_.prepared_values;
    for (const Tensor& factor : change_.factors) values += 2 * factor.values();
    return values * sizeof(float);
  }

  RowChange change_;
  LowRankProduct product_;
  uint64_t first_;  // first row that the change applies to
  mutable std::mutex mutex_;
  mutable std::weak_ptr<const RowChange::Held> held_;
};

}  // namespace

Result<Tensor> with_row_change(const Tensor& base, RowChange change, LowRankProduct product) {
  CKPT_TRY(check_stored_floats(base));
  uint64_t values = change.prepared_values;
  for (const Tensor& factor : change.factors) {
    CKPT_TRY(check_stored_floats(factor));
    values += factor.values();
  }
  if (values > kMaxHeldValues) {
    return unsupported("tensor '{}': {} needs {} values in memory at once; at most {} fit",
                       base.name, change.method, values, kMaxHeldValues);
  }
  CKPT_CHECK(product != nullptr && change.apply != nullptr);
  return stored_in(base,
                   std::make_shared<const RowChangeSource>(base, std::move(change), product, 0));
}

}  // namespace ckpt
