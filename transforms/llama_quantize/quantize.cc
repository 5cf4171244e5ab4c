// The quantize step: changes a GGUF checkpoint into the one that llama-quantize would write.
//
// It changes the types of tensors (mixture.h), their order (by block, then by name), leading axes
// of length 1, which are dropped, and a few keys (metadata.h), and nothing else. A tensor that an
// earlier step made as BF16 is rounded to BF16 before it is quantized, so that one run with both
// steps equals two runs.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/counted.h"
#include "core/base/nearest.h"
#include "core/base/numbers.h"
#include "core/chunks/repack.h"
#include "core/computed/merged_source.h"
#include "core/model/adapter.h"
#include "core/model/json_documents.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/llama_quantize/column_weights.h"
#include "transforms/llama_quantize/mixture.h"
#include "transforms/llama_quantize/options.h"
#include "transforms/modelopt_export/importance.h"

namespace ckpt {
namespace {

using SharedWeights = std::shared_ptr<const ColumnWeights>;

struct RuleUse {
  uint64_t matches = 0;  // tensors that match the rule
  uint64_t effects = 0;  // of these, tensors whose type it can change
  uint64_t wins = 0;     // of these, tensors that no later rule matches
};

// State for all tensors, and counts for the notes.
struct Job {
  const Context& context;
  const QuantizeOptions options;
  const Imatrix* imatrix = nullptr;  // null if there is none or it is empty
  std::vector<RuleUse> rule_uses = {};
  std::vector<std::string> without_weights = {};
  std::vector<std::string> needing_weights = {};  // tensors, for a plan that is only shown
  uint64_t searched = 0;                          // tensors whose blocks are searched
  std::optional<Importance> moments = {};         // for error feedback, if given
  std::string model_type = {};                    // general.architecture
  std::vector<std::string> without_moments = {};
  uint64_t draft_layer = UINT64_MAX;  // the first layer for multi-token prediction

  // Whether there are quantized weights with an added adapter: the user who adds one expects that
  // they are rounded again.
  bool has_sums = false;
  std::set<std::string_view> sums_from = {}, sums_to = {};
  uint64_t sums = 0, requantized = 0;
};

// "q2_k or q3_k": the types that have this kind of search.
std::string types_with(SearchUse use) {
  std::vector<std::string> names;
  for (const DtypeInfo& type : kDtypeInfos) {
    if (type.search == use) names.emplace_back(type.name);
  }
  return alternatives(names);
}

// Whether the rule can change the tensor's type. Mixtures of block types depend on earlier tensors,
// so a kept tensor's type is known only for other mixtures.
bool changes_type(const Job& job, const MixtureChooser& chooser, const Tensor& tensor,
                  const std::optional<Dtype>& type) {
  if (!chooser.may_change(tensor.name, tensor.shape)) return false;
  if (type) return !chooser.by_option({tensor.name, tensor.shape, *type, type}).has_value();
  const Dtype base = job.options.mixture->base;
  return is_block_type(base) || plain_dtype(*tensor.codec) != base;
}

// The last rule that matches the tensor; nullptr if there is none.
const TypeRule* find_rule(Job& job, const MixtureChooser& chooser, const Tensor& tensor) {
  const std::vector<uint32_t> matching = job.options.rules.matching(tensor);
  for (const uint32_t i : matching) {
    ++job.rule_uses[i].matches;
    if (changes_type(job, chooser, tensor, job.options.rules[i].type)) ++job.rule_uses[i].effects;
  }
  if (matching.empty()) return nullptr;
  ++job.rule_uses[matching.back()].wins;
  return &job.options.rules[matching.back()];
}

// ggml can encode these types only with column weights.
bool has_only_weighted_search(Dtype type) {
  return type == Dtype::kIq1S || type == Dtype::kIq2Xxs || type == Dtype::kIq2Xs;
}

// Fails if a tensor needs column weights that are missing. A plan that is only shown collects it.
Status miss_weights(Job& job, const Tensor& tensor, Dtype target) {
  const bool has_none = job.imatrix == nullptr;
  if (has_none && job.context.is_only_shown) {
    job.needing_weights.push_back(tensor.name);
    return {};
  }
  std::string hint = has_none ? "--imatrix FILE (llama-imatrix makes one), or another type"
                              : "an importance matrix that has them, or another type";
  // llama-imatrix does not run the layers for multi-token prediction.
  const auto layer = number_after(tensor.name, "blk.");
  if (!has_none && layer && *layer >= job.draft_layer) {
    hint = fmt::format("--tensor-type 'blk.{}.*=q8_0', or --no-mtp", *layer);
  }
  return misuse_hint(
      std::move(hint),
      "{} needs column weights in a file of type {}, and {}", info(target).name,
      job.options.mixture->name,
      has_none ? "no importance matrix was given" : "the importance matrix has none");
}

// The column weights for encoding `tensor` as `target`; null for none.
Result<SharedWeights> weights_for(Job& job, const Tensor& tensor, Dtype target) {
  SharedWeights weights;
  if (job.imatrix != nullptr) CKPT_SET(weights, find_column_weights(*job.imatrix, tensor));
  const bool needs_them = needs_column_weights(tensor.name, target, *job.options.mixture);
  if (weights == nullptr && needs_them) CKPT_TRY(miss_weights(job, tensor, target));
  if (info(target).importance == ImportanceUse::kIgnored) return nullptr;
  if (weights == nullptr && job.imatrix != nullptr) job.without_weights.push_back(tensor.name);
  return weights;
}

// Whether an earlier step moves bits without rounding them, and without a separate factor.
bool is_moved_alone(const Tensor& tensor) {
  const Scheme scheme = moved_scheme(tensor);
  return scheme == Scheme::kMxfp4 || scheme == Scheme::kPackedInt4;
}

// Returns the tensor before the move, because it has the same values.
Tensor before_move(Tensor tensor) {
  if (!is_moved_alone(tensor)) return tensor;
  Recoded& recoded = std::get<Recoded>(tensor.origin);
  recoded.repack = nullptr;
  tensor.codec = recoded.from->codec;
  return tensor;
}

Status check_requantize(const Job& job, const Tensor& tensor, Dtype from, Dtype to) {
  if (!is_block_type(from) || is_lora_merge(tensor)) return {};
  if (!job.options.allow_requantize && !job.has_sums) {
    return misuse_hint(
        "a BF16 or F32 checkpoint as input, or --allow-requantize (of a step: "
        "allow-requantize=yes)",
        "already quantized as {}; making it {} would round it a second time", info(from).name,
        info(to).name);
  }
  if (tensor.is_stored() || is_moved_alone(tensor)) return {};
  return unsupported_hint(
      from == Dtype::kNvfp4 ? "--step dequantize, which makes floats first"
                            : "two conversions, the second of the file that the first makes",
      "made as {} by an earlier step; cannot become {} as well", info(from).name, info(to).name);
}

// If an earlier step made the tensor 16 bits wide, quantizing reads values of this width.
Result<Tensor> round_as_made(Tensor tensor, Dtype made) {
  if (tensor.is_stored() || (made != Dtype::kBF16 && made != Dtype::kF16)) return tensor;
  const Recoded& recoded = tensor.recoded();
  if (recoded.ops.empty() && recoded.from->codec == tensor.codec) return tensor;
  return with_op(std::move(tensor), RoundTo{made});
}

Status set_moments(Job& job, Tensor& tensor) {
  if (!job.moments) return {};
  CKPT_ASSIGN(auto found, find_gguf_moments(*job.moments, job.model_type, tensor));
  if (found == nullptr) job.without_moments.push_back(tensor.name);
  std::get<Recoded>(tensor.origin).moments = std::move(found);
  return {};
}

// Sets the type and the encoding of a weight with an added adapter.
void choose_type_of_sum(Job& job, Tensor& tensor, Dtype from, Dtype to) {
  Recoded& recoded = std::get<Recoded>(tensor.origin);
  recoded.options = {};
  if (!is_block_type(to)) return;
  ++job.sums;
  job.sums_from.insert(info(from).name);
  job.sums_to.insert(info(to).name);
}

Result<Tensor> convert(Job& job, Tensor tensor, Dtype from, Dtype to) {
  const std::string place = fmt::format("tensor '{}'", tensor.name);
  CKPT_TRY(in(place, check_requantize(job, tensor, from, to)));
  CKPT_ASSIGN(SharedWeights weights, in(place, weights_for(job, tensor, to)));
  // The mixture accepts embedding and output without column weights, but the search may need them.
  const bool is_exempt = !needs_column_weights(tensor.name, to, *job.options.mixture);
  if (weights == nullptr && is_exempt && has_only_weighted_search(to)) {
    CKPT_TRY(in(place, miss_weights(job, tensor, to)));
  }
  const Codec* codec = find_target_codec(job.context.codecs, to);
  if (codec == nullptr) return unsupported("{}: {} cannot be encoded", place, info(to).name);
  if (is_lora_merge(tensor)) {
    choose_type_of_sum(job, tensor, from, to);
  } else if (is_block_type(from) && is_block_type(to)) {
    ++job.requantized;
  }
  CKPT_ASSIGN(tensor, round_as_made(before_move(std::move(tensor)), from));
  CKPT_ASSIGN(tensor, recode(std::move(tensor), *codec));
  Recoded& recoded = std::get<Recoded>(tensor.origin);
  recoded.weights = std::move(weights);
  const bool is_fed_back = job.moments && info(to).search == SearchUse::kFeedback;
  if (job.options.searches && (info(to).search == SearchUse::kScales || is_fed_back)) {
    recoded.options.search = ScaleSearch::kBest;
    ++job.searched;
    CKPT_TRY(in(place, set_moments(job, tensor)));
  }
  return tensor;
}

// Leading axes of length 1 are dropped, because ggml does not count them.
Result<Tensor> drop_unit_axes(Tensor tensor) {
  std::vector<uint64_t> shape = tensor.shape;
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  if (shape.empty()) shape.push_back(1);
  if (shape == tensor.shape) return tensor;
  return reshape(std::move(tensor), std::move(shape));
}

Result<Tensor> quantize_tensor(Job& job, MixtureChooser& chooser, Tensor tensor) {
  CKPT_ASSIGN(tensor, drop_unit_axes(std::move(tensor)));
  const TypeRule* rule = find_rule(job, chooser, tensor);
  const bool is_kept =
      (rule != nullptr && !rule->type) || !chooser.may_change(tensor.name, tensor.shape);
  if (is_kept && !is_lora_merge(tensor)) return tensor;
  const auto from = plain_dtype(*tensor.codec);
  if (!from) {
    return unsupported("tensor '{}': stored as {}, which no GGUF file holds", tensor.name,
                       tensor.codec->name);
  }
  if (is_kept) return convert(job, std::move(tensor), *from, *from);
  const std::optional<Dtype> given = rule == nullptr ? std::nullopt : rule->type;
  CKPT_ASSIGN(const Dtype to, chooser.choose({tensor.name, tensor.shape, *from, given}));
  // Codes that to-gguf kept would be rounded again by another quantized type.
  if (!given && moved_scheme(tensor) == Scheme::kPackedInt4) return tensor;
  if (to != *from || is_lora_merge(tensor)) return convert(job, std::move(tensor), *from, to);
  // Without a matrix a copy fails too, as in llama-quantize, because the file would claim one.
  if (job.imatrix == nullptr) {
    CKPT_TRY(in(fmt::format("tensor '{}'", tensor.name), weights_for(job, tensor, to)));
  }
  return tensor;
}

// A type that matches no tensor is probably mistyped; a keep option may be a habit.
Status check_rules(const Job& job) {
  for (size_t i = 0; i < job.options.rules.size(); ++i) {
    const TypeRule& rule = job.options.rules[i];
    const RuleUse& use = job.rule_uses[i];
    if (use.matches == 0 && rule.type) {
      return misuse_hint("names as ckpt show IN --tensors prints them", "{} matches no tensor",
                         rule.text);
    }
    if (use.matches == 0) {
      job.context.note("{} matches no tensor", rule.text);
    } else if (use.effects == 0) {
      job.context.note("{} has no effect: none of the {} tensors it matches {}", rule.text,
                       use.matches,
                       rule.type ? "gets its type from a rule" : "would have another type");
    } else if (use.wins == 0) {
      job.context.note(
          "{} has no effect: later rules match all of its {} tensors, and the last one wins",
          rule.text, use.matches);
    }
  }
  return {};
}

void note_tensors(const Job& job, const std::vector<std::string>& names, std::string_view what) {
  if (names.empty()) return;
  job.context.note("{} {} (the first: '{}')", counted(names.size(), "tensor"), what, names[0]);
}

// llama-quantize writes such a file too, but users who request 4 bits should know about the 8 bits.
void note_mxfp4(const Job& job, const std::vector<Tensor>& tensors) {
  if (job.options.mixture->file_type != FileType::kMxfp4Moe) return;
  const bool has_any = std::ranges::any_of(
      tensors, [](const Tensor& tensor) { return plain_dtype(*tensor.codec) == Dtype::kMxfp4; });
  if (has_any) return;
  job.context.note(
      "mxfp4_moe stores stacks of experts as mxfp4 and all other tensors as q8_0; this model has "
      "no stacks of experts");
}

void note_sums(const Job& job) {
  if (job.sums == 0) return;
  std::string note = fmt::format(
      "{} weights with an adapter added were rounded to {} when IN was made and are rounded a "
      "second time, to {}",
      job.sums, fmt::join(job.sums_from, ", "), fmt::join(job.sums_to, ", "));
  if (job.requantized == 1) note += "; so is another";
  if (job.requantized > 1) note += fmt::format("; so are {} others", job.requantized);
  job.context.note(std::move(note));
}

Job make_job(QuantizeOptions options, const Context& context) {
  const bool has_imatrix = context.imatrix != nullptr && !context.imatrix->weights.empty();
  options.mixture_options.has_imatrix = has_imatrix;
  std::vector<RuleUse> uses(options.rules.size());
  return {context, std::move(options), has_imatrix ? context.imatrix : nullptr, std::move(uses)};
}

// Requires: a checkpoint of format "gguf". Fails: kUsage for options and for quantized tensors
// without allow-requantize; kCorrupt if metadata or an importance matrix contradict the tensors;
// kUnsupported if a tensor's type cannot be decoded.
Result<Checkpoint> quantize(Checkpoint checkpoint, const OptionValues& options,
                            const Context& context) {
  if (checkpoint.format != "gguf") {
    return misuse_hint("the step to-gguf before it",
                       "quantize: the checkpoint is {}; expected gguf", checkpoint.format);
  }
  CKPT_ASSIGN(QuantizeOptions parsed, read_quantize_options(options, context.codecs));
  parsed.rules.take_regexes(checkpoint.tensors);
  Job job = make_job(std::move(parsed), context);
  if (job.imatrix != nullptr) CKPT_TRY(check_finite(*job.imatrix));
  if (!job.options.moments.empty()) {
    CKPT_ASSIGN(job.moments, read_moments_file(job.options.moments, context));
    job.model_type = architecture_of(checkpoint);
  }
  job.has_sums = std::ranges::any_of(checkpoint.tensors, is_lora_merge);
  ModelFacts facts;
  if (is_block_type(job.options.mixture->base)) {
    CKPT_TRY(require_model(checkpoint));
    CKPT_SET(facts, model_facts(checkpoint.metadata));
    const std::string key = facts.arch + ".nextn_predict_layers";
    const auto drafts = checkpoint.metadata.find_unsigned(key);
    if (drafts && *drafts <= facts.layers) job.draft_layer = facts.layers - *drafts;
  }
  const auto before = [](const Tensor& a, const Tensor& b) {
    return quantized_order(a.name, b.name);
  };
  std::ranges::stable_sort(checkpoint.tensors, before);
  std::vector<std::string_view> names;
  for (const Tensor& tensor : checkpoint.tensors) names.push_back(tensor.name);
  MixtureChooser chooser(*job.options.mixture, std::move(facts), job.options.mixture_options,
                         names);
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : checkpoint.tensors) {
    CKPT_ASSIGN(tensors.emplace_back(), quantize_tensor(job, chooser, tensor));
  }
  checkpoint.tensors = std::move(tensors);
  update_quantized_metadata(checkpoint.metadata, job.options.mixture->file_type, job.imatrix);
  CKPT_TRY(check_rules(job));
  if (job.options.searches && job.searched == 0) {
    context.note("search=best has no effect: no tensor is made {} (with moments also {})",
                 types_with(SearchUse::kScales), types_with(SearchUse::kFeedback));
  }
  note_sums(job);
  note_mxfp4(job, checkpoint.tensors);
  note_tensors(job, chooser.fallbacks(), "got a type that fits their rows instead");
  note_tensors(job, job.needing_weights, "cannot be made without --imatrix FILE");
  note_tensors(job, job.without_moments, "rounded without second moments");
  note_tensors(job, job.without_weights, "without column weights in the importance matrix");
  return checkpoint;
}

}  // namespace

extern constinit const Transform kQuantize = {
    "quantize", "quantize a GGUF checkpoint as llama-quantize does", kQuantizeOptions, quantize};

}  // namespace ckpt
