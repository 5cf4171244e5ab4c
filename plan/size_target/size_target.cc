#include "plan/size_target/size_target.h"

#include <algorithm>

#include "core/model/adapter.h"
#include "core/model/tensor_names.h"
#include "plan/conversion/sizes.h"
#include "plan/size_target/choice.h"
#include "plan/size_target/measured_file.h"
#include "plan/size_target/sensitivity.h"
#include "plan/size_target/sensitivity_file.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// How many mixtures after the first that fits are also tried, as their order depends on the model.
constexpr int kNeighbors = 2;
// A choice must have at most this share of the mixture's error; otherwise the mixture is used.
constexpr double kClearGain = 0.95;
constexpr int kMaxSplitRounds = 8;  // headers of split files depend on where files end

// The types to choose from; earlier ones win ties.
const std::vector<Dtype>& choosable_types() {
  static const std::vector<Dtype> types = [] {
    std::vector<Dtype> out;
    for (uint32_t i = 0; i < kDtypeCount; ++i) {
      if (info(static_cast<Dtype>(i)).target_place != 0) out.push_back(static_cast<Dtype>(i));
    }
    std::ranges::sort(out, {}, [](Dtype type) { return info(type).target_place; });
    return out;
  }();
  return types;
}

// The mixtures to compare, roughly from large to small. Mixtures that this model does not allow, or
// that need an importance matrix that is missing, are skipped later.
std::vector<TypeInfo> compared_mixtures() {
  std::vector<TypeInfo> out = all_types();
  std::erase_if(out, [](const TypeInfo& type) { return type.target_place == 0; });
  std::ranges::sort(out, {}, &TypeInfo::target_place);
  return out;
}

// A conversion whose types are not chosen yet, and its input.
struct PendingConversion {
  Conversion conversion;
  ConversionInput input;
};

Conversion planned_alone(Conversion conversion) {
  conversion.given.clear();
  conversion.mmproj.clear();
  conversion.is_only_shown = false;
  return conversion;
}

Result<PlannedConversion> plan_as(const PendingConversion& undecided, std::string_view type,
                                  bool is_pure) {
  Conversion conversion = planned_alone(undecided.conversion);
  conversion.to = type;
  if (is_pure) conversion.flags.add("pure", "yes");
  return plan_conversion(conversion, undecided.input);
}

uint64_t coded_bytes(const Tensor& tensor, const Codec& codec) {
  return part_shape(codec.parts[0], tensor.rows(), tensor.row_values()).size_bytes;
}

// The planned model: tensors whose type is free, and the size of everything else.
struct FreeModel {
  std::vector<Tensor> tensors;  // Recoded
  std::vector<size_t> places;   // their indices in the checkpoint
  uint64_t fixed_bytes = 0;     // size of files without these tensors
  uint64_t alignment = 1;
  uint64_t weights = 0;
  bool has_experts = false, is_tied = false;

  uint64_t counted(uint64_t bytes) const { return (bytes + alignment - 1) / alignment * alignment; }
};

uint64_t metadata_number(const Checkpoint& checkpoint, std::string_view key) {
  const std::string* arch = checkpoint.metadata.find_text("general.architecture");
  if (arch == nullptr) return 0;
  return checkpoint.metadata.find_unsigned(fmt::format("{}.{}", *arch, key)).value_or(0);
}

// Finds the tensors whose type is free: those that get another type in a q8_0 and a q4_0 plan.
Result<FreeModel> find_free(const PendingConversion& undecided, const SizeTarget& target) {
  CKPT_ASSIGN(const PlannedConversion wide, plan_as(undecided, "q8_0", true));
  CKPT_ASSIGN(const PlannedConversion narrow, plan_as(undecided, "q4_0", true));
  const Output &a = wide.plan.outputs[0], &b = narrow.plan.outputs[0];
  CKPT_CHECK(a.checkpoint.tensors.size() == b.checkpoint.tensors.size());
  FreeModel out;
  // A target in bits counts only tensors, not files.
  const bool counts_files = !target.is_of_bits();
  out.alignment =
      counts_files ? std::max<uint64_t>(
                         1, a.checkpoint.metadata.find_unsigned("general.alignment").value_or(32))
                   : 1;
  out.fixed_bytes = counts_files ? a.layout.size_bytes() : 0;
  out.has_experts = metadata_number(a.checkpoint, "expert_count") > 1;
  out.is_tied = a.checkpoint.find_tensor("output.weight") == nullptr;
  for (size_t i = 0; i < a.checkpoint.tensors.size(); ++i) {
    const Tensor &first = a.checkpoint.tensors[i], &second = b.checkpoint.tensors[i];
    if (first.codec == second.codec) continue;
    out.places.push_back(i);
    out.weights += first.values();
    if (counts_files) out.fixed_bytes -= out.counted(coded_bytes(first, *first.codec));
    out.tensors.push_back(second.is_stored() ? first : second);
  }
  if (!out.tensors.empty()) return out;
  return misuse_hint("--to TYPE, or fewer options that say types",
                     "{}: no tensor is left whose type can be chosen", target.text);
}

// The types that a tensor may have, without their errors.
FreeTensor offers_for(const Tensor& tensor, const FreeModel& model) {
  FreeTensor out{tensor.name, tensor.values(), 1, 0, {}};
  const bool has_weights = tensor.recoded().weights != nullptr;
  for (const Dtype type : choosable_types()) {
    const DtypeInfo& row = info(type);
    const bool is_for_short_rows = row.target_place > 100;
    if (row.importance == ImportanceUse::kNeeded && !has_weights) continue;
    if (is_for_short_rows && tensor.row_values() % 256 == 0) continue;
    if (tensor.row_values() % row.values != 0) continue;
    const Codec& codec = plain_codec(all_codecs(), type);
    out.offers.push_back({&codec, model.counted(coded_bytes(tensor, codec)), 0});
  }
  return out;
}

std::vector<FreeTensor> all_offers(const FreeModel& model) {
  std::vector<FreeTensor> out;
  for (const Tensor& tensor : model.tensors) {
    FreeTensor& made = out.emplace_back(offers_for(tensor, model));
    made.sensitivity = sensitivity_of(tensor.name, model.is_tied);
    const bool is_output =
        model.is_tied ? is_of_embeddings(tensor.name) : is_of_head(tensor.name);
    made.least_bits = least_bits(made, model.weights, model.has_experts, is_output);
  }
  return out;
}

// Fails: kUsage: even the smallest types exceed the target.
Status check_reachable(const std::vector<FreeTensor>& tensors, const FreeModel& model,
                       const SizeTarget& target) {
  uint64_t least = model.fixed_bytes, most = model.fixed_bytes;
  for (const FreeTensor& tensor : tensors) {
    const auto [low, high] = std::ranges::minmax_element(tensor.offers, {}, &TypeOffer::size_bytes);
    least += low->size_bytes;
    most += high->size_bytes;
  }
  if (least <= model.fixed_bytes + target.room(model.weights, model.fixed_bytes) &&
      (target.is_of_bits() || target.size_bytes >= model.fixed_bytes)) {
    return {};
  }
  const auto said = [&](uint64_t bytes) { return target.words_for(bytes, model.weights, "bits"); };
  const bool has_weights = std::ranges::any_of(
      model.tensors, [](const Tensor& each) { return each.recoded().weights != nullptr; });
  return misuse_hint(
      has_weights ? "a target in between"
                  : "a target in between, or --imatrix FILE, with which smaller types can be made",
      "{}: too small for this model; possible are {} to {}", target.text, said(least), said(most));
}

// The largest mixture that fits, and the types that it gives the free tensors.
struct FittingMixture {
  std::string_view name;
  std::vector<const Codec*> types;
  uint64_t size_bytes = 0, out_bytes = 0;
};

Result<std::optional<FittingMixture>> find_mixture(const PendingConversion& undecided,
                                                   const FreeModel& model,
                                                   const SizeTarget& target) {
  std::optional<FittingMixture> largest;
  int behind = 0;
  for (const TypeInfo& type : compared_mixtures()) {
    if (largest && behind++ == kNeighbors) break;
    auto planned = plan_as(undecided, type.name, false);
    if (!planned) continue;
    const Output& output = planned->plan.outputs[0];
    FittingMixture out{type.name, {}, 0, output.layout.size_bytes()};
    for (const size_t place : model.places) {
      const Tensor& tensor = output.checkpoint.tensors[place];
      out.types.push_back(tensor.codec);
      out.size_bytes += model.counted(coded_bytes(tensor, *tensor.codec));
    }
    const bool fits = target.is_of_bits()
                          ? out.size_bytes <= target.room(model.weights, model.fixed_bytes)
                          : out.out_bytes <= target.size_bytes;
    if (fits && (!largest || out.size_bytes > largest->size_bytes)) largest = std::move(out);
  }
  return largest;
}

// Adds types that only the mixture uses, so that their errors are measured too.
void offer_types_of(const FittingMixture& mixture, const FreeModel& model,
                    std::vector<FreeTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Codec* codec = mixture.types[i];
    const bool is_known = std::ranges::count(tensors[i].offers, codec, &TypeOffer::codec) > 0;
    if (is_known) continue;
    tensors[i].offers.push_back({codec, model.counted(coded_bytes(model.tensors[i], *codec)), 0});
  }
}

Status measure(const FreeModel& model, const Conversion& conversion,
               std::vector<FreeTensor>& tensors, Observer& observer, unsigned threads) {
  const bool searches = std::ranges::any_of(conversion.flags.pairs(), [](const auto& flag) {
    return flag.first == "search" && flag.second == "best";
  });
  std::vector<TypesToMeasure> asked;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TypesToMeasure& one = asked.emplace_back();
    one.values = model.tensors[i];
    one.search = searches ? ScaleSearch::kBest : ScaleSearch::kNone;
    one.values.codec = &plain_codec(all_codecs(), Dtype::kF32);
    Recoded& recoded = std::get<Recoded>(one.values.origin);
    recoded.options = {};
    one.weights = std::exchange(recoded.weights, nullptr);
    for (const TypeOffer& offer : tensors[i].offers) one.codecs.push_back(offer.codec);
  }
  CKPT_ASSIGN(const auto errors, measure_types_once(conversion, asked, observer, threads));
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t k = 0; k < tensors[i].offers.size(); ++k) {
      tensors[i].offers[k].error = errors[i][k];
    }
  }
  return {};
}

std::vector<RatedTensor> rated_tensors(const std::vector<FreeTensor>& tensors,
                                       const FreeModel& model) {
  std::vector<RatedTensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    RatedTensor& made = out.emplace_back();
    made.names = {tensors[i].name, model.tensors[i].source_name};
    made.factor = tensors[i].sensitivity;
    for (const TypeOffer& offer : tensors[i].offers) {
      made.errors[std::string(offer.codec->name)] = offer.error;
    }
  }
  return out;
}

void use_sensitivities(const SensitivityFile& file, const FreeModel& model,
                       std::vector<FreeTensor>& tensors) {
  std::vector<RatedTensor> rated = rated_tensors(tensors, model);
  rate_tensors(file, rated);
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i].sensitivity = rated[i].factor;
}

Conversion with_types(Conversion conversion, const std::vector<FreeTensor>& tensors,
                      const TypeChoice& choice, std::string_view mixture) {
  conversion.to = mixture;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Codec& codec = *tensors[i].offers[choice.offers[i]].codec;
    conversion.flags.add("tensor-type",
                         fmt::format("out:{}={}", literal_glob(tensors[i].name), codec.name));
  }
  return conversion;
}

void add_tensors(const std::vector<FreeTensor>& tensors, const std::vector<const Codec*>& types,
                 ChosenTypes& out) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const FreeTensor& tensor = tensors[i];
    const auto found = std::ranges::find(tensor.offers, types[i], &TypeOffer::codec);
    const double error = found == tensor.offers.end() ? 0 : found->error;
    const uint64_t size = found == tensor.offers.end() ? 0 : found->size_bytes;
    out.tensors.push_back({tensor.name, role_of(tensor.name), std::string(types[i]->name),
                           tensor.weights, size, error});
  }
}

// A warning if every tensor has the best type on offer, because the user may have meant another
// number; else "".
std::string note_of_room(const std::vector<FreeTensor>& tensors, const TypeChoice& choice,
                         const SizeTarget& target, const FreeModel& model) {
  double least_cost = 0;
  for (const FreeTensor& tensor : tensors) {
    const auto best = std::ranges::min_element(tensor.offers, {}, &TypeOffer::error);
    least_cost += tensor.sensitivity * best->error;
  }
  if (choice.cost > least_cost) return {};
  return fmt::format(
      "{}: every tensor has the best type there is, which takes {}; a smaller target chooses types",
      target.text,
      target.words_for(model.fixed_bytes + choice.size_bytes, model.weights, "bits a weight"));
}

Status refuse_adapter(const Checkpoint& input, const SizeTarget& target) {
  const std::string what = adapter_words(input);
  if (what.empty()) return {};
  return misuse_hint(input.format == "gguf" ? "--to f16" : "--to q8_0",
                     "{}: chooses types of a model's weights; IN is a {}", target.text, what);
}

}  // namespace

uint64_t SizeTarget::room(uint64_t weights, uint64_t fixed_bytes) const {
  const uint64_t whole =
      is_of_bits() ? static_cast<uint64_t>(bits * static_cast<double>(weights) / 8) : size_bytes;
  return whole - std::min(whole, fixed_bytes);
}

std::string SizeTarget::words_for(uint64_t bytes, uint64_t weights,
                                  std::string_view bits_words) const {
  return is_of_bits() ? fmt::format("{:.3f} {}", bits_per_weight(bytes, weights), bits_words)
                      : fmt::format("{} bytes ({})", bytes, human_bytes(bytes));
}

Result<std::pair<Conversion, ChosenTypes>> with_chosen_types(const Conversion& asked,
                                                             const SizeTarget& target,
                                                             Observer& observer, unsigned threads) {
  PendingConversion undecided{asked, {}};
  Conversion& conversion = undecided.conversion;
  conversion.target_size.clear();
  conversion.target_bits.clear();
  CKPT_ASSIGN(undecided.input, read_input(planned_alone(conversion)));
  CKPT_TRY(refuse_adapter(undecided.input.checkpoint, target));
  CKPT_ASSIGN(const FreeModel model, find_free(undecided, target));
  std::vector<FreeTensor> tensors = all_offers(model);
  CKPT_TRY(check_reachable(tensors, model, target));
  CKPT_ASSIGN(
      const SensitivityFile file,
      fitting_sensitivities(conversion.sensitivity, rated_tensors(tensors, model), observer));
  CKPT_ASSIGN(const auto mixture, find_mixture(undecided, model, target));
  if (mixture) offer_types_of(*mixture, model, tensors);
  CKPT_TRY(measure(model, conversion, tensors, observer, threads));
  use_sensitivities(file, model, tensors);
  ChosenTypes out;
  // 0 if there is no mixture, or it loses nothing.
  const double mixture_cost = mixture ? cost_of(tensors, mixture->types).value_or(0) : 0;
  if (mixture) {
    out.mixture = mixture->name;
    out.mixture_bytes = mixture->out_bytes;
  }
  uint64_t limit = target.room(model.weights, model.fixed_bytes);
  for (int round = 0; round < kMaxSplitRounds; ++round) {
    const auto choice = choose_types(tensors, limit);
    if (!choice) break;
    out.keeps_floors = choice->keeps_floors;
    out.note = note_of_room(tensors, *choice, target, model);
    if (mixture_cost > 0) out.against = choice->cost / mixture_cost;
    if (mixture_cost > 0 && choice->cost > kClearGain * mixture_cost) {
      out.is_mixture = true;
      out.out_bytes = mixture->out_bytes;
      add_tensors(tensors, mixture->types, out);
      conversion.to = mixture->name;
      return std::pair(std::move(conversion), std::move(out));
    }
    Conversion made = with_types(conversion, tensors, *choice, mixture ? mixture->name : "q2_k");
    CKPT_ASSIGN(const PlannedConversion planned,
                plan_conversion(planned_alone(made), undecided.input));
    out.out_bytes = planned.plan.outputs[0].layout.size_bytes();
    if (target.is_of_bits() || out.out_bytes <= target.size_bytes) {
      std::vector<const Codec*> types;
      for (size_t i = 0; i < tensors.size(); ++i) {
        types.push_back(tensors[i].offers[choice->offers[i]].codec);
      }
      add_tensors(tensors, types, out);
      return std::pair(std::move(made), std::move(out));
    }
    limit -= std::min(limit, out.out_bytes - target.size_bytes);
  }
  return misuse_hint("a larger target, or fewer files", "{}: the headers of {} files do not fit",
                     target.text, conversion.out.string());
}

}  // namespace ckpt
