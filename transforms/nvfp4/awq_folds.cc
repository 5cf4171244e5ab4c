#include "transforms/nvfp4/awq_folds.h"

#include <algorithm>
#include <cmath>

#include "core/chunks/evaluate.h"
#include "transforms/nvfp4/mixed_job.h"

namespace ckpt {
namespace {

constexpr uint64_t kMaxColumns = uint64_t{1} << 24;
// Values per weight from which scales are estimated: a thousand rows of four thousand.
constexpr uint64_t kColumnSample = uint64_t{1} << 22;
// Differences from 1 below this are rounding errors of the weights.
constexpr double kNoScale = 0.03;
// A reader without a folded scale equals the base's at least to this many dB.
constexpr double kSameDb = 45;
constexpr double kClose = 0.1;
// Without a base: columns whose logarithms vary less than kSizesVary were hardly divided; sound
// folds have slopes of 0.6 to 0.7, above kFollows.
constexpr double kSizesVary = 0.002;
constexpr double kFollows = 0.3;

enum class FoldState : uint8_t {
  kNone,     // nothing was folded in
  kRight,    // folded as the norm computes
  kWrong,    // w s instead of (1 + w) s - 1
  kUnclear,  // the norm differs from the base in another way
};

struct NormFold {
  NormReaders norm;
  FoldState state = FoldState::kNone;
  std::vector<float> scales;               // s, one per column
  std::vector<std::string> uncompensated;  // readers that were not divided by s
  uint64_t lost_columns = 0;               // columns whose s is unknown; taken as 1
};

// Examines every norm with quantized readers.
class Finder {
 public:
  Finder(const Checkpoint& checkpoint, const MixedModel& model, const BaseWeights& base)
      : checkpoint_(checkpoint), model_(model), base_(base), index_(checkpoint.tensors) {}

  Result<std::vector<NormFold>> run() {
    std::vector<NormFold> out;
    for (NormReaders& norm : find_norm_readers(index_, model_.model_type)) {
      NormFold fold;
      fold.norm = std::move(norm);
      CKPT_ASSIGN(const bool known, compare_fold(fold));
      if (known) out.push_back(std::move(fold));
    }
    return out;
  }

 private:
  const Tensor& tensor(size_t at) const { return checkpoint_.tensors[at]; }

  // Compares the base's weights W with the stored W', over all readers that may have lost a scale.
  Result<std::vector<double>> column_scales(const NormFold& fold) const {
    ColumnSums sums;
    for (const std::string& reader : fold.norm.readers) {
      const MixedLayer* layer = model_.find(reader);
      if (layer == nullptr || !layer->is_quantized() || layer->pre_quant_scale) continue;
      const auto original = base_.find(reader, tensor(layer->weight).shape);
      if (!original) continue;
      CKPT_TRY(add_column_sums(*original, tensor(layer->weight), sums, kColumnSample));
    }
    std::vector<double> out;
    for (size_t i = 0; i < sums.square.size(); ++i) {
      const bool known = sums.square[i] > 0 && sums.product[i] > 0;
      out.push_back(known ? sums.square[i] / sums.product[i] : 0);
    }
    return out;
  }

  // Returns false if there is nothing to compare.
  Result<bool> compare_fold(NormFold& fold) {
    CKPT_ASSIGN(const std::vector<double> columns, column_scales(fold));
    const auto at = index_.find(fold.norm.norm + ".weight");
    if (columns.empty() || !at) return false;
    const Tensor& norm = tensor(*at);
    const auto original = base_.find(fold.norm.norm, norm.shape);
    if (!original || norm.values() != columns.size()) return false;
    CKPT_ASSIGN(const std::vector<float> now, read_values(norm, kMaxColumns));
    CKPT_ASSIGN(const std::vector<float> before, read_values(*original, kMaxColumns));
    judge(fold, columns, now, before);
    if (fold.state == FoldState::kRight || fold.state == FoldState::kWrong) {
      CKPT_TRY(find_uncompensated(fold));
    }
    return true;
  }

  void judge(NormFold& fold, const std::vector<double>& columns, const std::vector<float>& now,
             const std::vector<float>& before) const {
    const bool one_plus = adds_one_to_norms(model_.model_type);
    double spread = 0, size = 0, none = 0, right = 0, wrong = 0, known = 0;
    const auto square = [](double value) { return value * value; };
    for (size_t i = 0; i < columns.size(); ++i) {
      const double s = columns[i], w = before[i], found = now[i];
      if (s <= 0) continue;
      known += 1;
      spread += square(std::log(s));
      size += square(one_plus ? (1 + w) * s : w * s);
      none += square(found - w);
      right += square(found - (one_plus ? (1 + w) * s - 1 : w * s));
      wrong += square(found - w * s);
    }
    if (!one_plus) wrong = right * 2 + size;
    const double least = std::min({none, right, wrong});
    if (known == 0 || (spread < known * square(kNoScale) && none <= square(kClose) * size)) return;
    fold.state = least == wrong ? FoldState::kWrong
                                : (least == right ? FoldState::kRight : FoldState::kNone);
    if (least > square(kClose) * size) fold.state = FoldState::kUnclear;
    for (size_t i = 0; i < columns.size(); ++i) {
      fold.scales.push_back(scale_of(fold, columns[i], now[i], before[i]));
    }
  }

  // The scale of a column, for which there are two estimates. `now` / `before`, from the norm, has
  // a precision of 8 bits. It is returned if it agrees with `column`, the estimate from weights, or
  // if there is no such estimate; otherwise `column` is returned.
  float scale_of(NormFold& fold, double column, double now, double before) const {
    const bool one_plus = adds_one_to_norms(model_.model_type) && fold.state == FoldState::kRight;
    const double from_norm = (now + (one_plus ? 1 : 0)) / (before + (one_plus ? 1 : 0));
    const bool agrees =
        std::isfinite(from_norm) && column > 0 && std::fabs(from_norm / column - 1) < kClose;
    if (agrees) return static_cast<float>(from_norm);
    if (column > 0) return static_cast<float>(column);
    const bool alone = std::isfinite(from_norm) && from_norm > 0;
    if (!alone) ++fold.lost_columns;
    return alone ? static_cast<float>(from_norm) : 1.0f;
  }

  Status find_uncompensated(NormFold& fold) const {
    for (const std::string& reader : fold.norm.readers) {
      const MixedLayer* layer = model_.find(reader);
      if (layer == nullptr || layer->is_quantized()) continue;
      const auto original = base_.find(reader, tensor(layer->weight).shape);
      if (!original) continue;
      CKPT_ASSIGN(const ValueError error, measure_error(tensor(layer->weight), *original));
      if (error.sqnr_db() > kSameDb) fold.uncompensated.push_back(reader);
    }
    return {};
  }

  const Checkpoint& checkpoint_;
  const MixedModel& model_;
  const BaseWeights& base_;
  TensorIndex index_;
};

// (1 + w) s - 1 for the base's norm w, in the type of the checkpoint's norm.
Result<Tensor> repaired_norm(const Tensor& norm, const Tensor& original,
                             const std::vector<float>& scales) {
  CKPT_ASSIGN(Tensor out, with_op(original, AddScalar{1}));
  CKPT_ASSIGN(out, with_op(std::move(out), ScaleColumns{share(scales)}));
  CKPT_ASSIGN(out, with_op(std::move(out), AddScalar{-1}));
  CKPT_ASSIGN(out, recode(std::move(out), *norm.codec));
  out.name = norm.name;
  out.source_name = norm.source_name;
  out.home = norm.home;
  return out;
}

}  // namespace

Result<FoldRepair> repair_norm_folds(Checkpoint& checkpoint, const MixedModel& model,
                                     const BaseWeights& base) {
  FoldRepair out;
  CKPT_ASSIGN(const std::vector<NormFold> folds, Finder(checkpoint, model, base).run());
  const TensorIndex index(checkpoint.tensors);
  for (const NormFold& fold : folds) {
    if (fold.state == FoldState::kUnclear) out.unclear.add(fold.norm.norm);
    if (fold.state == FoldState::kWrong) {
      Tensor& norm = checkpoint.tensors[*index.find(fold.norm.norm + ".weight")];
      const auto original = base.find(fold.norm.norm, norm.shape);
      CKPT_ASSIGN(norm, repaired_norm(norm, *original, fold.scales));
      ++out.norms;
      out.lost_columns += fold.lost_columns;
    }
    const auto factors = share(invert(fold.scales));
    for (const std::string& reader : fold.uncompensated) {
      Tensor& weight = checkpoint.tensors[model.find(reader)->weight];
      CKPT_ASSIGN(weight, with_op(std::move(weight), ScaleColumns{factors}));
      ++out.readers;
    }
  }
  return out;
}

std::string describe(const FoldRepair& repair) {
  std::string out = fmt::format(
      "{} norms had AWQ scales folded in as w s where the model computes 1 + w: now (1 + w) s - 1; "
      "{} unquantized layers behind norms divided by their scales",
      repair.norms, repair.readers);
  if (repair.lost_columns > 0) {
    out += fmt::format("; {} columns keep scale 1, because nothing says what theirs was",
                       repair.lost_columns);
  }
  if (repair.unclear.count() > 0) {
    out += "; " + repair.unclear.text("norms differ from the base in another way and stay");
  }
  return out;
}

// After a sound fold 1 + w' grows as the columns of W' shrink, so their logarithms correlate. After
// an unsound one 1 + w' hardly changes.
Result<NameCount> suspect_norm_folds(const Checkpoint& checkpoint, const MixedModel& model) {
  NameCount out;
  if (!adds_one_to_norms(model.model_type)) return out;
  const TensorIndex index(checkpoint.tensors);
  for (const NormReaders& norm : find_norm_readers(index, model.model_type)) {
    const Tensor& weight = checkpoint.tensors[*index.find(norm.norm + ".weight")];
    if (!weight.is_stored()) continue;
    CKPT_ASSIGN(const std::vector<float> values, read_values(weight, kMaxColumns));
    ColumnSums sums;
    for (const std::string& reader : norm.readers) {
      const MixedLayer* layer = model.find(reader);
      if (layer == nullptr || layer->kind != LayerKind::kNvfp4 || layer->pre_quant_scale) {
        continue;
      }
      const Tensor& stored = checkpoint.tensors[layer->weight];
      CKPT_TRY(add_column_sums(stored, stored, sums));
    }
    if (sums.square.size() != values.size()) continue;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, count = 0;
    const auto each = [&](const auto& work) {
      for (size_t i = 0; i < values.size(); ++i) {
        const double gain = 1 + double{values[i]};
        if (gain > 0 && sums.square[i] > 0) work(-0.5 * std::log(sums.square[i]), std::log(gain));
      }
    };
    each([&](double x, double y) { mean_x += x, mean_y += y, count += 1; });
    each([&](double x, double y) {
      xx += (x - mean_x / count) * (x - mean_x / count);
      xy += (x - mean_x / count) * (y - mean_y / count);
    });
    // If columns have equal sizes, nothing was divided, so nothing was folded wrongly.
    if (count == 0 || xx < count * kSizesVary) continue;
    if (xy < kFollows * xx) out.add(norm.norm);
  }
  return out;
}

}  // namespace ckpt
