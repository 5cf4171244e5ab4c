#include "plan/conversion/pipeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

#include "core/io/remote_files.h"
#include "core/model/adapter.h"
#include "core/model/document_names.h"
#include "core/resume/plan_digest.h"
#include "formats/formats.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/advice.h"
#include "plan/conversion/fixing.h"
#include "plan/conversion/option_table.h"
#include "plan/conversion/sizes.h"
#include "plan/conversion/targets.h"
#include "plan/conversion/uncopied.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

// The profiles that apply. An additional GGUF only gets those of --for that load GGUF files.
std::vector<std::string> profiles_of(const Checkpoint& checkpoint, const Conversion& conversion) {
  std::vector<std::string> out = conversion.profiles;
  if (checkpoint.format == "gguf" && conversion.is_beside_folder) {
    std::erase_if(out, [](const std::string& profile) { return !is_for_gguf(profile); });
  }
  return out;
}

// Advice for a finding: options to append to the command, or else the doctor's advice for OUT.
std::string advice_for(const Finding& finding, const Conversion& conversion) {
  const std::string options = advised_options(finding.fix.advice);
  const AdviceTarget on{conversion.out, conversion.base, conversion.profiles};
  if (!options.empty() && is_export_type(conversion.to)) return fmt::format("Try: {}", options);
  const std::string command = advised_command(finding.fix.advice, on);
  if (command.starts_with("ckpt convert FOLDER")) return {};  // the user has just run it
  return command.empty() ? advised_words(finding.fix.advice, on) : fmt::format("Try: {}", command);
}

// Rejects a split adapter: llama.cpp would load only the first file, and half of the adapter.
Status check_adapter_in_one_file(const Checkpoint& checkpoint, const Conversion& conversion) {
  const bool has_count = conversion.split_tensors != 0;
  const bool is_split = has_count || conversion.split_bytes != 0;
  if (!is_split || checkpoint.format != "gguf" || adapter_words(checkpoint).empty()) return {};
  return misuse_hint("the same command without it", "{}: llama.cpp reads an adapter from one file",
                     has_count ? "--split-tensors" : "--split-size");
}

uint64_t limit_of_files(const Checkpoint& checkpoint, const Conversion& conversion) {
  const uint64_t typed =
      checkpoint.format == "gguf" ? conversion.split_bytes : conversion.shard_bytes;
  if (typed != kAutoFileBytes) return typed;
  std::vector<uint64_t> sizes;
  for (const Tensor& tensor : checkpoint.tensors) sizes.push_back(size_bytes(tensor));
  return equal_file_bytes(sizes);
}

Result<Layout> lay_out_for(const Checkpoint& checkpoint, const Conversion& conversion) {
  CKPT_TRY(check_adapter_in_one_file(checkpoint, conversion));
  const Format* format = find_format(checkpoint.format);
  CKPT_CHECK(format != nullptr);
  LayoutOptions options;
  options.out_name = conversion.out.filename().string();
  options.max_file_bytes = limit_of_files(checkpoint, conversion);
  options.max_file_tensors = conversion.split_tensors;
  if (conversion.split_tensors != 0 && checkpoint.format != "gguf") {
    return misuse_hint("an OUT that ends in .gguf, or --shard-size SIZE instead",
                       "--split-tensors: {} is {}; only .gguf files are split by tensors",
                       conversion.out.string(), checkpoint.format);
  }
  options.header_slack_bytes = conversion.header_slack_bytes;
  return format->lay_out(checkpoint, options, all_codecs());
}

std::vector<std::string> names_in(const Layout& layout) {
  std::vector<std::string> out;
  for (const OutputFile& file : layout.files) out.push_back(file.path);
  return out;
}

// Applies the fixes that the doctor would ask for (--for), and notes the remaining findings.
Result<Checkpoint> apply_profile_fixes(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const Context& context = planning.context;
  if (conversion.profiles.empty()) return checkpoint;
  const std::vector<std::string> profiles = profiles_of(checkpoint, conversion);
  if (profiles.empty()) {
    context.note("--for {} does not apply to the GGUF output",
                 fmt::join(conversion.profiles, ", "));
    return checkpoint;
  }
  const auto names_to_write = [&](const Checkpoint& made) {
    return lay_out_for(made, conversion).map(names_in);
  };
  CKPT_ASSIGN(FixedCheckpoint fixed, fix_checkpoint(std::move(checkpoint),
                                                    {.profiles = profiles,
                                                     .base = conversion.base,
                                                     .rewrite_weights = true,
                                                     .files_to_write = names_to_write},
                                                    context));
  const std::string steps = fmt::format("{}", fmt::join(fixed.steps, ", "));
  if (!conversion.base.empty() && steps.find(conversion.base) != steps.npos) {
    planning.use.add("base");
  }
  const std::string unchanged =
      fixed.left.is_good() ? "no fixes needed" : "no step can fix the findings";
  context.note("for {}: {}", fmt::join(profiles, ", "), steps.empty() ? unchanged : steps);
  for (const Finding& finding : fixed.left.findings) {
    if (finding.severity < Severity::kUnsound) continue;
    const bool needs_base = finding.fix.needs.starts_with("BASE") && conversion.base.empty();
    const std::string needs = needs_base ? "Try: --base DIR, the unquantized model's folder"
                              : finding.fix.needs.empty() ? advice_for(finding, conversion)
                                                          : finding.fix.needs;
    context.note("{} will not {} it: {}: {}: {}{}{}", finding.profile,
                 finding.severity == Severity::kUnloaded ? "load" : "run", finding.check,
                 finding.place, finding.found, needs.empty() ? "" : "; ", needs);
  }
  for (const Verdict& verdict : fixed.left.verdicts) {
    if (verdict.loads && verdict.sound && !verdict.not_checked.empty()) {
      context.note("{}: not checked: {}", verdict.profile, verdict.not_checked);
    }
    if (!verdict.note.empty()) context.note("{}: {}", verdict.profile, verdict.note);
    planning.verdicts.push_back({conversion.out, verdict});
  }
  return std::move(fixed.checkpoint);
}

// Only IN can be a trainer's checkpoint with several values of its weights.
Result<ReadOptions> reading_of_input(const Conversion& conversion) {
  ReadOptions out = conversion.reading;
  out.base = conversion.base;
  if (conversion.weights.empty()) return out;
  if (conversion.weights != "model" && conversion.weights != "master") {
    return misuse("--weights {}: expected model or master", conversion.weights);
  }
  const bool is_model = conversion.weights == "model";
  out.weights = is_model ? WeightValues::kModel : WeightValues::kMaster;
  return out;
}

// The files and folders that `conversion` names, in addition to those that its plan reads.
std::vector<InputPath> input_paths(const Conversion& conversion, const std::vector<Step>& steps) {
  std::vector<InputPath> paths{{"IN", conversion.in},
                               {"--tokenizer", conversion.tokenizer},
                               {"--base", conversion.base},
                               {"--imatrix", conversion.imatrix}};
  for (const auto& [name, value] : conversion.flags.pairs()) {
    if (find_convert_option(name)->is_path(value))
      paths.push_back({fmt::format("--{}", name), value});
  }
  for (const Step& step : steps) {
    for (const auto& [key, value] : step.options.pairs()) {
      const std::string_view path = path_in(*find_rule(step.transform->options, key), value);
      if (!path.empty())
        paths.push_back({fmt::format("--step {}:{}", step.transform->name, key), path});
    }
  }
  std::erase_if(paths, [](const InputPath& input) { return input.path.empty(); });
  return paths;
}

// The inputs on the Hub, each with the commit that planning has read.
std::vector<std::string> hub_inputs(const std::vector<InputPath>& inputs) {
  std::vector<std::string> out;
  for (const InputPath& input : inputs) {
    if (!input.path.native().starts_with("hf://")) continue;
    if (const auto pinned = pinned_path(input.path)) out.push_back(pinned->string());
  }
  return out;
}

// Prefixes an error with IN or, if it is in a file of --tokenizer, with that folder.
Error in_source(Error error, const Conversion& conversion) {
  const std::string text = error.text();
  const std::string file = text.substr(0, text.find_first_of(": "));
  const bool is_of_tokenizer = is_document_of(DocumentKind::kVocabulary, file) ||
                               is_document_of(DocumentKind::kTokenizer, file);
  if (conversion.tokenizer.empty() || !is_of_tokenizer) {
    return in_input(std::move(error), conversion.in);
  }
  if (error.remedy == Remedy::kTokenizer) {
    error.hint = "--tokenizer with the folder of the source model's tokenizer";
  }
  return in_input(std::move(error), conversion.tokenizer);
}

// Appends to the plan the output that `planning` describes, made from `checkpoint`.
Status add_output(Plan& plan, Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const SourceScales scales = source_scales(checkpoint);
  auto converted = apply_added_steps(std::move(checkpoint), planning);
  if (!converted) {
    return Failure(
        in_source(with_command(std::move(converted.error()), conversion, scales), conversion));
  }
  note_uncopied(*converted, planning.context);
  CKPT_ASSIGN(converted, apply_profile_fixes(std::move(*converted), planning));
  CKPT_ASSIGN(Layout layout, lay_out_for(*converted, conversion));
  CKPT_ASSIGN(const bool into, goes_into(conversion.out, layout));
  plan.outputs.push_back({conversion.out, std::move(*converted), std::move(layout), into});
  return {};
}

// Rejects options of a projector that contradict each other.
Status check_projector_options(const Conversion& conversion, const Checkpoint& checkpoint) {
  const bool is_added = !conversion.mmproj.empty();
  if (!is_added && !conversion.mmproj_only) return {};
  const std::string_view option = is_added ? "--mmproj" : "--mmproj-only";
  if (is_added && conversion.mmproj_only) {
    return misuse_hint("one of them",
                       "--mmproj {} and --mmproj-only, which makes OUT the projector",
                       conversion.mmproj.string());
  }
  if (is_added && !is_gguf_path(conversion.mmproj)) {
    return misuse("--mmproj {}: a projector is a file that ends in .gguf",
                  conversion.mmproj.string());
  }
  if (checkpoint.format == "gguf") {
    return misuse_hint("the Hugging Face folder that it was made from",
                       "{}: IN is a GGUF, which holds no towers to make a projector of", option);
  }
  const bool has_size = conversion.shard_bytes != 0 || conversion.split_bytes != 0;
  if (conversion.mmproj_only && (has_size || conversion.split_tensors != 0)) {
    return misuse_hint("the same command without it",
                       "{}: llama.cpp reads a projector from one file",
                       has_size ? "--split-size" : "--split-tensors");
  }
  if (conversion.mmproj_only && !conversion.profiles.empty()) {
    return misuse_hint("--for where the language model is made",
                       "--for {}: a projector alone is checked for no program",
                       fmt::join(conversion.profiles, ", "));
  }
  return {};
}

// The conversion that makes the projector next to OUT: one file, with OUT's type if that is a float
// type.
Conversion projector_beside(const Conversion& conversion) {
  Conversion out = conversion;
  out.out = conversion.mmproj;
  out.mmproj_only = true;
  if (!is_float_type(out.to)) out.to.clear();
  out.split_bytes = 0;
  out.split_tensors = 0;
  out.profiles.clear();
  return out;
}

// The results of planning other than the plan.
struct PlanningState {
  const Imatrix& imatrix;
  OptionUse use = {};
  std::vector<std::string> notes = {};
  std::vector<OutputVerdict> verdicts = {};

  Context context(const Conversion& conversion) {
    Context out = step_context(&notes, conversion.reading);
    out.is_only_shown = conversion.is_only_shown;
    if (!conversion.imatrix.empty()) out.imatrix = &imatrix;
    return out;
  }
};

// Whether the types of all outputs are chosen after the steps.
bool quantizes_all(const Conversion& conversion) {
  const auto quantizes = [](const fs::path& out, const std::string& to) {
    return is_gguf_path(out) && !to.empty();
  };
  return quantizes(conversion.out, conversion.to) &&
         std::ranges::all_of(conversion.also, [&](const AlsoOutput& also) {
           return quantizes(also.out, also.to);
         });
}

// When writing a GGUF, prevents that adapters are encoded in types that a later step replaces.
std::vector<Step> with_one_encoding(std::vector<Step> steps, const Checkpoint& checkpoint,
                                    const Conversion& conversion) {
  const bool has_folder = std::ranges::any_of(
      steps, [](const Step& step) { return step.transform->name == "from-gguf"; });
  if (checkpoint.format != "gguf" || has_folder) return steps;
  bool quantizes = quantizes_all(conversion);
  for (Step& step : std::views::reverse(steps)) {
    const std::string_view name = step.transform->name;
    quantizes = quantizes || name == "quantize";
    const bool merges = name == "lora" && quantizes && !step.options.has("encode");
    if (merges) step.options.add("encode", "later");
  }
  return steps;
}

// Adds files and weights that IN lacks, taken from --base. This happens before all steps, so that
// they run on a complete model.
Result<Checkpoint> completed(Checkpoint checkpoint, const Conversion& conversion,
                             PlanningState& planning) {
  const bool is_adapter = !adapter_words(checkpoint).empty();
  if (conversion.base.empty() || checkpoint.format == "gguf" || is_adapter) return checkpoint;
  const size_t before = checkpoint.documents.size() + checkpoint.tensors.size();
  CKPT_ASSIGN(checkpoint, find_transform("complete")
                              ->apply(std::move(checkpoint), {{"base", conversion.base}},
                                      planning.context(conversion)));
  const bool is_used = checkpoint.documents.size() + checkpoint.tensors.size() != before;
  if (is_used) planning.use.add("base");
  return checkpoint;
}

// Passes --base to each step that needs the unquantized model and names none itself.
std::vector<Step> with_base(std::vector<Step> steps, const Conversion& conversion,
                            PlanningState& planning) {
  for (Step& step : steps) {
    const OptionRules rules = step.transform->options;
    const bool needs_base = find_rule(rules, "base") != nullptr && !find_rule(rules, "with") &&
                            !find_rule(rules, "from") && !step.options.has("base");
    if (conversion.base.empty() || !needs_base) continue;
    step.options.add("base", conversion.base);
    planning.use.add("base");
  }
  return steps;
}

// Applies the user's steps and the tokenizer of --tokenizer.
Result<Checkpoint> apply_own_steps(Checkpoint checkpoint, const std::vector<Step>& steps,
                                   const Conversion& conversion, PlanningState& planning) {
  const Context context = planning.context(conversion);
  leave_adapter(checkpoint, conversion.in, steps, context);
  // An adapter in the model renames its tensors, so that none seems to be there.
  const bool has_adapter = has_inner_adapter(checkpoint);
  if (!has_adapter) CKPT_SET(checkpoint, completed(std::move(checkpoint), conversion, planning));
  if (!conversion.tokenizer.empty() && checkpoint.format != "gguf") {
    CKPT_ASSIGN(const std::vector<Document> documents,
                read_documents(conversion.tokenizer, conversion.reading));
    CKPT_TRY(take_tokenizer_files(documents, conversion.tokenizer.string(), checkpoint));
    planning.use.add("tokenizer");
  }
  for (const Step& step : steps) {
    const std::string_view name = step.transform->name;
    const bool encodes = name == "quantize" || name == "export";
    const bool encodes_again = name == "lora" && checkpoint.format == "gguf";
    if (encodes || encodes_again) planning.use.add("imatrix");
  }
  const std::vector<Step> made = with_one_encoding(steps, checkpoint, conversion);
  CKPT_SET(checkpoint,
           apply_steps(with_base(made, conversion, planning), std::move(checkpoint), context));
  if (has_adapter) CKPT_SET(checkpoint, completed(std::move(checkpoint), conversion, planning));
  return checkpoint;
}

struct OutputNotes {
  std::string out;
  std::vector<std::string> notes;
};

// Collects the notes of all outputs. A note that does not hold for all gets the output's name.
void add_notes(const std::vector<OutputNotes>& outputs, std::vector<std::string>& notes) {
  std::map<std::string_view, size_t> counts;  // number of outputs with this note
  for (const OutputNotes& output : outputs) {
    const std::set<std::string_view> own(output.notes.begin(), output.notes.end());
    for (const std::string_view note : own) ++counts[note];
  }
  for (const OutputNotes& output : outputs) {
    for (const std::string& note : output.notes) {
      const bool is_common = counts[note] == outputs.size();
      notes.push_back(is_common ? note : fmt::format("{}: {}", output.out, note));
    }
  }
}

// Applies a single size to all outputs if they are of one kind.
Conversion with_sizes(Conversion conversion) {
  bool has_file = is_gguf_path(conversion.out), has_folder = !has_file;
  for (const AlsoOutput& also : conversion.also) {
    (is_gguf_path(also.out) ? has_file : has_folder) = true;
  }
  if (has_file && has_folder) return conversion;
  const uint64_t bytes =
      conversion.shard_bytes != 0 ? conversion.shard_bytes : conversion.split_bytes;
  conversion.shard_bytes = conversion.split_bytes = bytes;
  return conversion;
}

Result<Plan> make_plan(const Checkpoint& checkpoint, const Conversion& typed,
                       PlanningState& planning) {
  const Conversion conversion = with_sizes(typed);
  const Context context = planning.context(conversion);
  Plan plan;
  std::vector<OutputNotes> noted;
  const auto add = [&](const Conversion& one, bool is_also = false) -> Status {
    const auto before = static_cast<std::ptrdiff_t>(planning.notes.size());
    const OutputPlanning output{one, context, planning.use, planning.verdicts, is_also};
    CKPT_TRY(add_output(plan, checkpoint, output));
    const auto own = planning.notes.begin() + before;
    noted.push_back({one.out.string(), {own, planning.notes.end()}});
    planning.notes.erase(own, planning.notes.end());
    return {};
  };
  CKPT_TRY(add(conversion));
  Conversion other = conversion;
  for (const AlsoOutput& also : conversion.also) {
    other.out = also.out;
    other.to = also.to;
    other.is_beside_export = is_export_type(conversion.to);
    other.is_beside_folder = plan.outputs[0].checkpoint.format != "gguf";
    CKPT_TRY(add(other, true));
  }
  if (!conversion.mmproj.empty()) {
    CKPT_TRY(add(projector_beside(conversion)));
  }
  add_notes(noted, planning.notes);
  CKPT_TRY(check(plan));
  return plan;
}

constexpr size_t kMaxComparedSteps = 16;

// Notes options that were used but do not change the output for this model, by planning again
// without each. If that plan fails, the option is needed.
class UnusedOptionCheck {
 public:
  // `prepared` is the checkpoint after `steps`, the user's own; `plan` was made from it.
  UnusedOptionCheck(const Checkpoint& prepared, const std::vector<Step>& steps,
                    const Conversion& conversion, const Plan& plan, PlanningState& planning)
      : prepared_(prepared),
        steps_(steps),
        conversion_(conversion),
        plan_(plan),
        is_plan_whole_(conversion.profiles.empty()),
        planning_(planning) {
    const std::vector<Tensor>& made = plan.outputs[0].checkpoint.tensors;
    quantizes_ = std::ranges::any_of(made, [](const Tensor& tensor) {
      const bool has_codes = tensor.has_scales() || tensor.codec->block_values > 1;
      return has_codes && !tensor.is_stored() && tensor.recoded().repack == nullptr;
    });
    // Leaves out --for: its fixes may read weights, and they report themselves what they did.
    conversion_.profiles.clear();
  }

  Status note() {
    std::vector<std::string> names = options_to_compare(conversion_, planning_.notes);
    if (quantizes_) std::erase(names, "to");  // its effect is visible already
    const bool compares_steps = may_repeat_steps();
    if (names.empty() && !compares_steps) return {};
    CKPT_ASSIGN(const std::string whole, whole_digest());
    for (const std::string& name : names) {
      Conversion other = conversion_;
      clear_option(other, *find_convert_option(name));
      // the steps, or code before them, use these options
      const bool is_first = name == "tokenizer" || (name == "imatrix" && !steps_.empty());
      if (is_first && !compares_steps && !steps_.empty()) continue;
      const auto found = is_first ? digest_from_start(steps_, other) : digest(prepared_, other);
      if (found && *found == whole) say(fmt::format("--{}", name));
    }
    for (size_t i = 0; compares_steps && i < steps_.size(); ++i) {
      std::vector<Step> others = steps_;
      others.erase(others.begin() + static_cast<ptrdiff_t>(i));
      const auto found = digest_from_start(others, conversion_);
      if (found && *found == whole) say(fmt::format("step {}", steps_[i].transform->name));
    }
    return {};
  }

 private:
  void say(const std::string& option) {
    planning_.notes.push_back(
        fmt::format("{} has no effect: the output is the same without it", option));
  }

  static Result<std::string> digest(const Plan& plan) {
    CKPT_ASSIGN(PlanDigest found, digest_of(plan, CKPT_VERSION));
    return std::move(found.sha256);
  }
  Result<std::string> digest(const Checkpoint& checkpoint, const Conversion& tried) const {
    PlanningState unsaid{planning_.imatrix};
    CKPT_ASSIGN(const Plan plan, make_plan(checkpoint, tried, unsaid));
    return digest(plan);
  }
  // The digest of the plan with all options except --for.
  Result<std::string> whole_digest() const {
    return is_plan_whole_ ? digest(plan_) : digest(prepared_, conversion_);
  }

  Result<std::string> digest_from_start(const std::vector<Step>& steps,
                                        const Conversion& tried) const {
    PlanningState unsaid{planning_.imatrix};
    CKPT_ASSIGN(const ReadOptions reading, reading_of_input(tried));
    CKPT_ASSIGN(Checkpoint checkpoint, read_whole_checkpoint(tried.in, reading));
    CKPT_ASSIGN(checkpoint, apply_own_steps(std::move(checkpoint), steps, tried, unsaid));
    return digest(checkpoint, tried);
  }

  // Whether to run the steps again, leaving out one at a time. This is only done for the few steps
  // that a user types, and not for steps that read all weights while planning.
  bool may_repeat_steps() const {
    if (steps_.empty() || steps_.size() > kMaxComparedSteps) return false;
    return std::ranges::none_of(steps_, [](const Step& step) {
      const std::string_view name = step.transform->name;
      return name == "mixed-to-nvfp4" || name == "awq-fold-repair";
    });
  }

  const Checkpoint& prepared_;
  const std::vector<Step>& steps_;
  Conversion conversion_;
  const Plan& plan_;
  bool is_plan_whole_;
  PlanningState& planning_;
  bool quantizes_ = false;
};

// Normalizes the outputs' paths. Fails: kUsage: one is IN, or cannot be written.
Result<Conversion> with_targets(Conversion conversion) {
  std::vector<fs::path*> outs = {&conversion.out};
  for (AlsoOutput& also : conversion.also) outs.push_back(&also.out);
  if (!conversion.mmproj.empty()) outs.push_back(&conversion.mmproj);
  for (fs::path* out : outs) {
    CKPT_ASSIGN(*out, target_path(*out));
    CKPT_TRY(check_apart(conversion.in, *out));
  }
  return conversion;
}

}  // namespace

Error in_input(Error error, const fs::path& input) {
  return std::move(error).in((input / "").parent_path().string());  // without a trailing '/'
}

Result<ConversionInput> read_input(const Conversion& typed) {
  CKPT_ASSIGN(const Conversion conversion, with_targets(typed));
  ConversionInput out;
  CKPT_ASSIGN(const ReadOptions reading, reading_of_input(conversion));
  CKPT_ASSIGN(out.checkpoint, read_whole_checkpoint(conversion.in, reading, &out.notes));
  CKPT_TRY(check_projector_options(conversion, out.checkpoint));
  if (!conversion.imatrix.empty()) {
    CKPT_ASSIGN(out.imatrix, read_imatrix(conversion.imatrix));
    if (!conversion.imatrix_name.empty()) out.imatrix.file = conversion.imatrix_name;
  }
  return out;
}

Result<PlannedConversion> plan_conversion(const Conversion& typed) {
  CKPT_ASSIGN(ConversionInput input, read_input(typed));
  CKPT_ASSIGN(PlannedConversion out, plan_conversion(typed, std::move(input)));
  std::vector<OutputNotes> noted;
  for (const Output& output : out.plan.outputs) {
    CKPT_ASSIGN(auto merged, measure_merged(output));
    noted.push_back({output.path.string(), {}});
    CKPT_ASSIGN(std::string small, note_of_small_values(output));
    for (std::string& note : std::array{note_of(merged), std::move(small)}) {
      if (!note.empty()) noted.back().notes.push_back(std::move(note));
    }
    std::ranges::move(merged, std::back_inserter(out.merged));
  }
  add_notes(noted, out.notes);
  return out;
}

Result<PlannedConversion> plan_conversion(const Conversion& typed, ConversionInput input) {
  CKPT_ASSIGN(const Conversion conversion, with_targets(typed));
  Checkpoint& checkpoint = input.checkpoint;
  PlannedConversion out;
  PlanningState planning{input.imatrix};
  planning.notes = std::move(input.notes);
  if (const std::string rest = bytes_after_tensors(checkpoint); !rest.empty()) {
    planning.notes.push_back(rest + " belong to no tensor; they are left out");
  }
  const bool has_adapter = has_inner_adapter(checkpoint);  // which a step may take out
  if (!has_adapter) CKPT_TRY(check_whole_model(checkpoint, conversion));
  note_copied_adapter(checkpoint, conversion, planning.context(conversion));
  CKPT_ASSIGN(std::vector<Step> steps, parse_steps(conversion.steps));
  if (steps.empty()) steps = conversion.recipe_steps;
  CKPT_ASSIGN(checkpoint, apply_own_steps(std::move(checkpoint), steps, conversion, planning));
  if (has_adapter) CKPT_TRY(check_whole_model(checkpoint, conversion));
  CKPT_ASSIGN(out.plan, make_plan(checkpoint, conversion, planning));
  const Context context = step_context(&planning.notes, conversion.reading);
  CKPT_TRY(check_options_used(conversion, planning.use, context));
  if (!conversion.given.empty()) {
    CKPT_TRY(UnusedOptionCheck(checkpoint, steps, conversion, out.plan, planning).note());
  }
  const ReplaceOptions replacing{conversion.force, conversion.reading};
  const std::vector<InputPath> inputs = input_paths(conversion, steps);
  CKPT_TRY(check_targets(out.plan, inputs, replacing));
  out.hub_inputs = hub_inputs(inputs);
  note_unchecked_sources(out.plan.outputs, context);
  // A note about the source is printed once for several outputs.
  std::set<std::string> known;
  for (std::string& note : planning.notes) {
    if (known.insert(note).second) out.notes.push_back(std::move(note));
  }
  out.verdicts = std::move(planning.verdicts);
  return out;
}

}  // namespace ckpt
