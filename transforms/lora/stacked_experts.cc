#include "transforms/lora/stacked_experts.h"

#include <optional>
#include <span>

#include "core/computed/strided_source.h"
#include "core/model/tensor_names.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kInnerLayer = ".base_layer";
constexpr std::string_view kGateUpParameter = "gate_up_proj", kDownParameter = "down_proj";
constexpr std::string_view kUpParameter = "up_proj";  // of experts without a gate
// The first version of PEFT whose A reads the inputs of a parameter; before, A read its second
// axis.
constexpr AdapterConfig::Version kInputsOfA = {0, 19, 1};

std::string experts_stem(std::string module) {
  while (module.ends_with(kInnerLayer)) module.resize(module.size() - kInnerLayer.size());
  return module;
}

// Where a parameter is in the model: one tensor, or tensors of each expert; its shape either way.
struct ExpertParameter {
  Tensor* stack = nullptr;
  std::string front;  // "model.layers.0.mlp.experts.", of single experts
  std::span<const std::string_view> parts = {};  // whose rows follow each other
  uint64_t experts = 0, rows = 0, columns = 0;

  uint64_t part_rows() const { return rows / parts.size(); }
  Tensor* single(uint64_t expert, std::string_view part, ModelWeights& weights) const {
    return weights.find_exactly(fmt::format("{}{}.{}.weight", front, expert, part));
  }
};

// nullopt: not in the model so.
std::optional<ExpertParameter> find_singles(const std::string& stem,
                                            std::span<const std::string_view> parts,
                                            ModelWeights& weights) {
  const std::string ending = fmt::format(".{}.weight", parts[0]);
  const Tensor* first = weights.find(stem + ".0", ending);
  if (first == nullptr || first->shape.size() != 2) return std::nullopt;
  ExpertParameter out;
  out.front = first->name.substr(0, first->name.size() - ending.size() - 1);
  out.parts = parts;
  while (out.single(out.experts, parts[0], weights) != nullptr) ++out.experts;
  out.rows = first->rows() * parts.size();
  out.columns = first->row_values();
  return out;
}

std::optional<ExpertParameter> place_of_parameter(const std::string& stem, std::string_view name,
                                                  ModelWeights& weights) {
  ExpertParameter out;
  out.stack = weights.find(stem, fmt::format(".{}", name));
  if (out.stack != nullptr) {
    const std::vector<uint64_t>& shape = out.stack->shape;
    if (shape.size() != 3) return std::nullopt;
    out.experts = shape[0];
    out.rows = shape[1];
    out.columns = shape[2];
    return out;
  }
  if (name == kUpParameter) return find_singles(stem, std::span(&kUpParameter, 1), weights);
  const bool is_down = name == kDownParameter;
  for (const ProjectionGroup& names : projection_groups()) {
    if (names.role != ProjectionRole::kMlp) continue;
    const std::span<const std::string_view> down(&names.output, 1);
    if (auto found = find_singles(stem, is_down ? down : names.parts(), weights)) return found;
  }
  return std::nullopt;
}

// Which axes A and B read.
enum class Axes : uint8_t { kNone, kStraight, kCrossed, kEither };

class StackMerge {
 public:
  StackMerge(const AdapterModule& module, const StackedExperts& given, ModelWeights& weights)
      : module_(module), given_(given), weights_(weights), stem_(experts_stem(module.name)) {}

  Status run() {
    CKPT_TRY(choose_parameter());
    CKPT_TRY(find_parameter());
    CKPT_TRY(check_shapes());
    CKPT_TRY(choose_axes());
    CKPT_TRY(choose_order());
    return place_.stack != nullptr ? merge_one_tensor() : merge_single_experts();
  }

 private:
  const Tensor& a() const { return *module_.find(AdapterPart::kA); }
  const Tensor& b() const { return *module_.find(AdapterPart::kB); }
  const AdapterConfig& config() const { return given_.adapter.config; }
  std::string place() const { return fmt::format("tensor '{}'", a().name); }

  bool targets(std::string_view parameter) const {
    return config().is_parameter(fmt::format("{}.{}", stem_, parameter));
  }

  std::string_view first_parameter() const {
    return targets(kUpParameter) ? kUpParameter : kGateUpParameter;
  }

  const AdapterModule* sibling() const {
    for (const AdapterModule& each : given_.adapter.modules) {
      if (&each != &module_ && experts_stem(each.name) == stem_) return &each;
    }
    return nullptr;
  }

  Status choose_parameter() {
    if (module_.find(AdapterPart::kMagnitude) != nullptr) {
      return unsupported("{}: experts with DoRA's magnitudes", place());
    }
    const bool is_inner = module_.name != stem_;
    if (is_inner || (targets(first_parameter()) && !targets(kDownParameter))) {
      name_ = first_parameter();
    } else if (targets(kDownParameter) || sibling() != nullptr) {
      name_ = kDownParameter;
    } else {
      return unsupported(
          "{}: target_parameters does not say whether it is gate_up_proj or down_proj", place());
    }
    return {};
  }

  Status find_parameter() {
    auto found = place_of_parameter(stem_, name_, weights_);
    if (!found) return no_parameter();
    place_ = std::move(*found);
    return {};
  }

  Failure no_parameter() const {
    return corrupt("{}: the model has no '{}.{}' of three axes, and no experts", place(), stem_,
                   name_);
  }

  Axes axes_of(const AdapterModule& module, uint64_t rows, uint64_t columns) const {
    const uint64_t in = module.find(AdapterPart::kA)->row_values();
    const uint64_t out = module.find(AdapterPart::kB)->rows();
    const bool is_straight = in == columns && out == rows;
    const bool is_crossed = in == rows && out == columns;
    if (is_straight && is_crossed) return Axes::kEither;
    return is_straight ? Axes::kStraight : (is_crossed ? Axes::kCrossed : Axes::kNone);
  }

  Status check_shapes() {
    const uint64_t rows = a().rows();
    rank_ = place_.experts == 0 ? 0 : rows / place_.experts;
    const double expected = config().rank_of(stem_ + "." + name_);
    const bool fits = a().shape.size() == 2 && b().shape.size() == 2 && rank_ > 0 &&
                      rank_ * place_.experts == rows && b().row_values() == rows &&
                      static_cast<double>(rank_) == expected &&
                      axes_of(module_, place_.rows, place_.columns) != Axes::kNone;
    if (fits) return {};
    return corrupt("{} [{}] and '{}' [{}] do not fit '{}.{}', {} experts of [{}, {}], at rank {}",
                   place(), fmt::join(a().shape, ", "), b().name, fmt::join(b().shape, ", "), stem_,
                   name_, place_.experts, place_.rows, place_.columns, expected);
  }

  // Decides by shape, for a square matrix by the layer's other parameter, or else by PEFT's
  // version.
  Status choose_axes() {
    Axes axes = axes_of(module_, place_.rows, place_.columns);
    if (const AdapterModule* other = sibling(); axes == Axes::kEither && other != nullptr) {
      CKPT_ASSIGN(axes, axes_of_sibling(*other));
    }
    if (axes == Axes::kEither) CKPT_SET(axes, axes_by_version());
    is_crossed_ = axes == Axes::kCrossed;
    return {};
  }

  Result<Axes> axes_by_version() {
    const auto& version = config().peft_version;
    if (!version) {
      return unsupported_hint(
          R"("peft_version": "0.19.1" in adapter_config.json if PEFT 0.19.1 or newer or a program )"
          R"(of its layout wrote it, otherwise "0.19.0")",
          "{}: A and B fit '{}.{}' both ways, because it is square, and the configuration has no "
          "peft_version",
          place(), stem_, name_);
    }
    if (*version < kInputsOfA) return Axes::kCrossed;
    // A reads inputs, which some classes have as the second axis: [E, in, out].
    const Axes axes = place_.stack == nullptr ? Axes::kStraight : axes_of_model();
    if (axes != Axes::kNone) return axes;
    return unsupported(
        "{}: A and B fit '{}.{}' both ways, because it is square, and the model has "
        "no other parameter that shows which axis is the input",
        place(), stem_, name_);
  }

  // Where the model's stacks have their inputs: gate_up_proj reads as many values as down_proj
  // makes, and makes twice as many as that reads; without a gate, as many.
  Axes axes_of_model() {
    const uint64_t parts = first_parameter() == kUpParameter ? 1 : 2;
    const Tensor* up = weights_.find(stem_, fmt::format(".{}", first_parameter()));
    const Tensor* down = weights_.find(stem_, fmt::format(".{}", kDownParameter));
    if (up == nullptr || down == nullptr) return Axes::kNone;
    if (up->shape.size() != 3 || down->shape.size() != 3) return Axes::kNone;
    const auto fits = [&](size_t out, size_t in) {
      return up->shape[in] == down->shape[out] && up->shape[out] == parts * down->shape[in];
    };
    return fits(1, 2) ? Axes::kStraight : (fits(2, 1) ? Axes::kCrossed : Axes::kNone);
  }

  Result<Axes> axes_of_sibling(const AdapterModule& other) const {
    StackMerge merge(other, given_, weights_);
    CKPT_TRY(merge.choose_parameter());
    CKPT_TRY(merge.find_parameter());
    return merge.axes_of(other, merge.place_.rows, merge.place_.columns);
  }

  Status choose_order() {
    is_grouped_ = given_.order == ColumnOrder::kGroupedByExpert;
    if (config().b_layout.empty()) return {};
    const bool is_given = is_grouped_;
    is_grouped_ = config().b_layout == "grouped_by_expert";
    if (given_.order == ColumnOrder::kFromFile || is_given == is_grouped_) return {};
    return misuse_hint("the same step without columns",
                       "columns={}; the adapter's lora_B_layout is {}",
                       is_given ? "grouped-by-expert" : "rank-major", config().b_layout);
  }

  // The factors of an expert, for rows [first, first + rows) of its matrix.
  Result<LowRankUpdate> update_of(uint64_t expert, uint64_t first, uint64_t rows) const {
    const uint64_t wide = b().row_values();  // r E
    const uint64_t column = is_grouped_ ? expert * rank_ : expert;
    const uint64_t step = is_grouped_ ? 1 : place_.experts;
    const uint64_t row = expert * rank_ * a().row_values();
    LowRankUpdate out;
    if (is_crossed_) {
      CKPT_ASSIGN(out.left,
                  take_grid(a(), {row + first, {1, rows, rank_}, {0, 1, a().row_values()}}));
      CKPT_ASSIGN(out.right, take_grid(b(), {column, {1, rank_, place_.columns}, {0, step, wide}}));
    } else {
      CKPT_ASSIGN(out.left,
                  take_grid(b(), {first * wide + column, {1, rows, rank_}, {0, wide, step}}));
      CKPT_ASSIGN(out.right, take_rows(a(), expert * rank_, rank_));
    }
    CKPT_ASSIGN(out.left, reshape(std::move(out.left), {rows, rank_}));
    CKPT_ASSIGN(out.right, reshape(std::move(out.right), {rank_, place_.columns}));
    out.scale = config().scale_of(stem_ + "." + name_, given_.factor);
    out.rounds_delta = true;
    return out;
  }

  Status merge_one_tensor() {
    std::vector<Tensor> merged;
    for (uint64_t expert = 0; expert < place_.experts; ++expert) {
      CKPT_ASSIGN(Tensor matrix, take_rows(*place_.stack, expert * place_.rows, place_.rows));
      CKPT_ASSIGN(LowRankUpdate update, update_of(expert, 0, place_.rows));
      CKPT_TRY(weights_.merge(matrix, std::move(update)));
      merged.push_back(std::move(matrix));
    }
    CKPT_ASSIGN(Tensor whole, concatenate_rows(merged));
    place_.stack->origin = std::move(whole.origin);
    return {};
  }

  Status merge_single_experts() {
    const uint64_t rows = place_.part_rows();
    for (uint64_t expert = 0; expert < place_.experts; ++expert) {
      for (size_t part = 0; part < place_.parts.size(); ++part) {
        Tensor* weight = place_.single(expert, place_.parts[part], weights_);
        if (weight == nullptr) return no_parameter();
        CKPT_ASSIGN(LowRankUpdate update, update_of(expert, part * rows, rows));
        CKPT_TRY(weights_.merge(*weight, std::move(update)));
      }
    }
    return {};
  }

  const AdapterModule& module_;
  const StackedExperts& given_;
  ModelWeights& weights_;
  std::string stem_, name_;
  ExpertParameter place_;
  uint64_t rank_ = 0;
  bool is_crossed_ = false, is_grouped_ = false;
};

}  // namespace

bool is_stack_of_experts(const AdapterModule& module) {
  return last_word(experts_stem(module.name)) == "experts" &&
         module.find(AdapterPart::kA) != nullptr;
}

Status merge_stack(const AdapterModule& module, const StackedExperts& given,
                   ModelWeights& weights) {
  return StackMerge(module, given, weights).run();
}

Result<std::vector<ExpertRows>> rows_of_experts(const std::string& name, const Tensor& values,
                                                ModelWeights& weights) {
  std::vector<ExpertRows> out;
  const std::string_view word = last_word(name);
  if (word != kGateUpParameter && word != kUpParameter && word != kDownParameter) return out;
  const auto place = place_of_parameter(module_of(name), word, weights);
  if (!place || place->stack != nullptr) return out;
  const uint64_t rows = place->part_rows();
  const std::vector<uint64_t> expected = {place->experts, place->rows, place->columns};
  if (values.shape != expected) {
    return corrupt("tensor '{}': shape [{}]; the model has experts of [{}]", values.name,
                   fmt::join(values.shape, ", "), fmt::join(expected, ", "));
  }
  for (uint64_t expert = 0; expert < place->experts; ++expert) {
    for (size_t part = 0; part < place->parts.size(); ++part) {
      ExpertRows& own = out.emplace_back();
      own.weight = place->single(expert, place->parts[part], weights);
      if (own.weight == nullptr) {
        return corrupt("tensor '{}': the model has no '{}{}.{}'", values.name, place->front, expert,
                       place->parts[part]);
      }
      CKPT_ASSIGN(own.values, take_rows(values, expert * place->rows + part * rows, rows));
    }
  }
  return out;
}

Result<bool> merge_expert_into_stack(const std::string& module, LowRankUpdate update,
                                     ModelWeights& weights) {
  const auto place = stack_part(module);
  if (!place) return false;
  Tensor* stack = weights.find(module_of(place->stack()), fmt::format(".{}", place->word));
  if (stack == nullptr || stack->shape.size() != 3) return false;
  const uint64_t rows = stack->shape[1], part = rows / place->parts;
  if (place->expert >= stack->shape[0] || update.left.rows() != part ||
      update.right.row_values() != stack->shape[2]) {
    return corrupt("'{}' [{}] and '{}' [{}] do not fit '{}' [{}]", update.left.name,
                   fmt::join(update.left.shape, ", "), update.right.name,
                   fmt::join(update.right.shape, ", "), stack->name, fmt::join(stack->shape, ", "));
  }
  CKPT_TRY(weights.merge_rows(*stack, place->expert * rows + place->part * part,
                              std::move(update)));
  return true;
}

}  // namespace ckpt
