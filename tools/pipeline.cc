#include "tools/pipeline.h"

#include <algorithm>
#include <set>

#include "core/codec.h"
#include "formats/formats.h"
#include "quantizers/quantizers.h"
#include "tools/mending.h"
#include "tools/targets.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

bool is_float_type(std::string_view type) {
  return type == "f32" || type == "f16" || type == "bf16";
}

bool is_gguf_path(const fs::path& path) { return path.extension() == ".gguf"; }

Result<Checkpoint> apply(std::string_view name, const Options& options, Checkpoint checkpoint,
                         const Context& context) {
  const Transform* transform = find_transform(name);
  CKPT_CHECK(transform != nullptr);
  return transform->apply(std::move(checkpoint), options, context);
}

// Another folder's tokenizer in place of this one's.
Status take_tokenizer(Checkpoint& checkpoint, const fs::path& folder) {
  CKPT_ASSIGN(std::vector<Document> documents, read_documents(folder));
  static constexpr std::string_view kFiles[] = {"tokenizer.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.json",
                                                "merges.txt",
                                                "tokenizer.model",
                                                "chat_template.jinja",
                                                "chat_template.json"};
  bool found = false;
  for (const Document& document : documents) {
    if (std::find(std::begin(kFiles), std::end(kFiles), document.path) == std::end(kFiles)) {
      continue;
    }
    found = true;
    checkpoint.set_document(document.path, *document.content);
  }
  if (found) return {};
  return fail(ErrorCode::kUsage, "{}: no tokenizer.json or tokenizer_config.json in this folder",
              folder.string());
}

Options gguf_options(const Conversion& conversion) {
  Options options;
  options.add("outtype", is_float_type(conversion.to) ? conversion.to : "auto");
  if (conversion.no_mtp) options.add("mtp", "no");
  if (!conversion.tokenizer_pre.empty()) options.add("tokenizer-pre", conversion.tokenizer_pre);
  if (!conversion.model_name.empty()) options.add("model-name", conversion.model_name);
  return options;
}

bool is_export_type(std::string_view type) {
  return type == "nvfp4" || type == "nvfp4-w4a16" || type == "fp8";
}

// Searches that only NVFP4 has mean another output, where there is one.
void add_search(const Conversion& conversion, Options& options) {
  const auto exports = [](const AlsoOutput& also) { return is_export_type(also.to); };
  const bool beside = conversion.is_beside_export ||
                      std::any_of(conversion.also.begin(), conversion.also.end(), exports);
  for (const auto& [key, value] : conversion.export_options) {
    const bool fits = value == "best" || value == "none" || !beside;
    if (key == "search" && fits) options.add(key, value);
  }
}

Options quantize_options(const Conversion& conversion) {
  Options options;
  options.add("type", conversion.to);
  add_search(conversion, options);
  for (const auto& [key, value] : conversion.type_rules) options.add(key, value);
  if (!conversion.output_tensor_type.empty()) {
    options.add("output-tensor-type", conversion.output_tensor_type);
  }
  if (!conversion.token_embedding_type.empty()) {
    options.add("token-embedding-type", conversion.token_embedding_type);
  }
  if (conversion.allow_requantize) options.add("allow-requantize", "yes");
  if (conversion.pure) options.add("pure", "yes");
  if (conversion.leave_output_tensor) options.add("leave-output-tensor", "yes");
  return options;
}

bool chooses_types(const Conversion& conversion) {
  return !conversion.type_rules.empty() || !conversion.output_tensor_type.empty() ||
         !conversion.token_embedding_type.empty();
}

// Weights as inference servers take them: NVFP4 and FP8 with their scales and configuration.
Result<Checkpoint> exported(Checkpoint checkpoint, const Conversion& conversion,
                            const Context& context) {
  Options options;
  options.add("type", conversion.to);
  for (const auto& [key, value] : conversion.export_options) options.add(key, value);
  for (const auto& [key, value] : conversion.type_rules) options.add(key, value);
  return apply("export", options, std::move(checkpoint), context);
}

// Weights that GGUF can hold as they are.
bool holds_nvfp4(const Checkpoint& checkpoint) {
  const Codec& blocks = plain_codec(all_codecs(), Dtype::kNvfp4);
  return std::any_of(
      checkpoint.tensors.begin(), checkpoint.tensors.end(),
      [&](const Tensor& tensor) { return find_repack(*tensor.codec, blocks) != nullptr; });
}

// Weights stored as codes with scales beside them.
bool is_quantized(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                     [](const Tensor& tensor) { return tensor.codec->parts.size() > 1; });
}

// Codes of 4 bits stay what they are, or become floats and are rounded a second time.
Result<Checkpoint> dequantized_for(Checkpoint checkpoint, const Conversion& conversion,
                                   const Context& context) {
  if (!is_float_type(conversion.to) && !conversion.allow_requantize) {
    return fail_with_hint(ErrorCode::kUsage,
                          "no --to, which keeps them, the checkpoint they were made from, or "
                          "--allow-requantize",
                          "weights are NVFP4; making them {} would round them a second time",
                          conversion.to);
  }
  return apply("dequantize", {}, std::move(checkpoint), context);
}

// The steps that OUT's format and --to ask for, after the person's own.
Result<Checkpoint> towards_gguf(Checkpoint checkpoint, const Conversion& conversion,
                                const Context& context) {
  const bool made_here = checkpoint.format != "gguf";
  const bool wants_nvfp4 = is_export_type(conversion.to) && conversion.to != "fp8";
  if (made_here) {
    const bool has_nvfp4 = holds_nvfp4(checkpoint);
    if (wants_nvfp4 && !has_nvfp4) {
      CKPT_ASSIGN(checkpoint, exported(std::move(checkpoint), conversion, context));
    } else if (has_nvfp4 && !wants_nvfp4 && !conversion.to.empty()) {
      CKPT_ASSIGN(checkpoint, dequantized_for(std::move(checkpoint), conversion, context));
    }
    CKPT_ASSIGN(checkpoint,
                apply("to-gguf", gguf_options(conversion), std::move(checkpoint), context));
  } else if (wants_nvfp4) {
    return fail_with_hint(ErrorCode::kUsage,
                          "--to nvfp4-ggml, llama.cpp's own encoder without tensor scales",
                          "--to {} takes a Hugging Face folder as IN", conversion.to);
  }
  // What the converter writes is a float file already; llama-quantize would sort it anew.
  const bool done = conversion.to.empty() || wants_nvfp4 ||
                    (made_here && is_float_type(conversion.to) && !chooses_types(conversion));
  if (done) return checkpoint;
  return apply("quantize", quantize_options(conversion), std::move(checkpoint), context);
}

// Only NVFP4 has a form in both, and only the folder it was made from the names.
Result<Checkpoint> returned_to_folder(Checkpoint checkpoint, const Conversion& conversion,
                                      const Context& context) {
  const Codec& nvfp4 = plain_codec(all_codecs(), Dtype::kNvfp4);
  const bool has_nvfp4 = std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                     [&](const Tensor& tensor) { return tensor.codec == &nvfp4; });
  if (!has_nvfp4 || conversion.base.empty()) {
    return fail_with_hint(
        ErrorCode::kUnsupported,
        has_nvfp4 ? "--base DIR, the folder that it was made from" : "an OUT that ends in .gguf",
        "a GGUF cannot be turned into a Hugging Face folder{}",
        has_nvfp4 ? " without one that has its names and configuration" : "");
  }
  if (!conversion.to.empty() && !conversion.to.starts_with("nvfp4")) {
    return fail_with_hint(ErrorCode::kUsage, "no --to, and then that folder to the other type",
                          "--to {}: NVFP4 of a GGUF comes back as it is", conversion.to);
  }
  Options options;
  options.add("base", conversion.base);
  return apply("from-gguf", options, std::move(checkpoint), context);
}

Result<Checkpoint> towards_folder(Checkpoint checkpoint, const Conversion& conversion,
                                  const Context& context) {
  if (checkpoint.format == "gguf") {
    return returned_to_folder(std::move(checkpoint), conversion, context);
  }
  if (conversion.to.empty()) return checkpoint;
  if (is_export_type(conversion.to)) {
    return exported(std::move(checkpoint), conversion, context);
  }
  if (!is_float_type(conversion.to)) {
    return fail_with_hint(ErrorCode::kUsage, "an OUT that ends in .gguf",
                          "--to {} is a GGUF type; OUT '{}' is a folder", conversion.to,
                          conversion.out.string());
  }
  Options options;
  options.add("type", conversion.to);
  if (is_quantized(checkpoint)) {
    return apply("dequantize", options, std::move(checkpoint), context);
  }
  for (const auto& [key, value] : conversion.type_rules) {
    if (key != "keep") {
      return fail(ErrorCode::kUsage, "--tensor-type is for .gguf; OUT '{}' is a folder",
                  conversion.out.string());
    }
    options.add(key, value);
  }
  return apply("cast", options, std::move(checkpoint), context);
}

// --for: the mends that the doctor would ask for, and what is left to say.
Result<Checkpoint> mended_for(Checkpoint checkpoint, const Conversion& conversion,
                              const Context& context) {
  if (conversion.profiles.empty()) return checkpoint;
  // A GGUF has been through the one program that reads it; only the names are looked at.
  if (checkpoint.format == "gguf") {
    CKPT_TRY(diagnose(Checkpoint{}, {conversion.profiles, false, {}, nullptr}));
    return checkpoint;
  }
  CKPT_ASSIGN(Mended mended,
              mend(std::move(checkpoint), {conversion.profiles, conversion.base, true}, context));
  if (!mended.steps.empty()) {
    context.note(fmt::format("for {}: {}", fmt::join(conversion.profiles, ", "),
                             fmt::join(mended.steps, ", ")));
  }
  for (const Finding& finding : mended.left.findings) {
    if (finding.severity < Severity::kUnsound) continue;
    const std::string needs = finding.mend.needs.empty() ? finding.mend.advice : finding.mend.needs;
    context.note(fmt::format("{} will not {} it: {}: {}: {}{}{}", finding.profile,
                             finding.severity == Severity::kUnloaded ? "load" : "run",
                             finding.check, finding.place, finding.found, needs.empty() ? "" : "; ",
                             needs));
  }
  return std::move(mended.checkpoint);
}

Result<Layout> lay_out_for(const Checkpoint& checkpoint, const Conversion& conversion) {
  const Format* format = find_format(checkpoint.format);
  CKPT_CHECK(format != nullptr);
  LayoutOptions options;
  options.out_name = conversion.out.filename().string();
  options.max_file_bytes = conversion.shard_bytes;
  options.header_slack_bytes = conversion.header_slack_bytes;
  return format->lay_out(checkpoint, options, all_codecs());
}

// What was asked for and changes nothing is said, not passed over.
void note_unused(const Conversion& conversion, const Context& context) {
  std::vector<std::string_view> types{conversion.to};
  for (const AlsoOutput& also : conversion.also) types.push_back(also.to);
  const bool exports = std::any_of(types.begin(), types.end(), is_export_type);
  const bool quantizes = std::any_of(types.begin(), types.end(), [](std::string_view type) {
    return !type.empty() && !is_float_type(type) && !is_export_type(type);
  });
  std::set<std::string_view> keys;
  for (const auto& [key, value] : conversion.export_options) keys.insert(key);
  for (const std::string_view key : keys) {
    if (exports || (quantizes && key == "search")) continue;
    context.note(fmt::format("--{} has no effect: no output is made {}", key,
                             key == "search" ? "a quantized type" : "nvfp4 or fp8"));
  }
  const bool has_steps = !conversion.steps.empty() || !conversion.recipe_steps.empty();
  if (!conversion.imatrix.empty() && !exports && !quantizes && !has_steps) {
    context.note("--imatrix has no effect: no output is made a quantized type");
  }
}

// The files and folders that `conversion` names, beside what its plan reads.
std::vector<InputPath> input_paths(const Conversion& conversion, const std::vector<Step>& steps) {
  std::vector<InputPath> paths{{"IN", conversion.in},
                               {"--tokenizer", conversion.tokenizer},
                               {"--base", conversion.base},
                               {"--imatrix", conversion.imatrix}};
  const auto add = [&](const Transform& step, const std::string& key, const std::string& value,
                       const std::string& what) {
    if (is_path_option(step, key)) paths.push_back({what + key, value});
  };
  for (const auto& [key, value] : conversion.export_options) {
    add(*find_transform("export"), key, value, "--");
  }
  for (const Step& step : steps) {
    for (const auto& [key, value] : step.options.pairs()) {
      add(*step.transform, key, value, fmt::format("--step {}:", step.transform->name));
    }
  }
  std::erase_if(paths, [](const InputPath& input) { return input.path.empty(); });
  return paths;
}

// The output that `conversion` asks for, made from `checkpoint`, at the end of the plan.
Status add_output(Plan& plan, Checkpoint checkpoint, const Conversion& conversion,
                  const Context& context) {
  auto converted = is_gguf_path(conversion.out)
                       ? towards_gguf(std::move(checkpoint), conversion, context)
                       : towards_folder(std::move(checkpoint), conversion, context);
  if (!converted) return Failure(std::move(converted.error()).in(conversion.in.string()));
  CKPT_ASSIGN(converted, mended_for(std::move(*converted), conversion, context));
  CKPT_ASSIGN(Layout layout, lay_out_for(*converted, conversion));
  plan.outputs.push_back({conversion.out, std::move(*converted), std::move(layout)});
  return {};
}

}  // namespace

Result<PlannedConversion> plan_conversion(const Conversion& typed) {
  PlannedConversion out;
  Conversion conversion = typed;
  CKPT_ASSIGN(conversion.out, target_path(typed.out));
  CKPT_TRY(check_apart(conversion.in, conversion.out));
  for (AlsoOutput& also : conversion.also) {
    CKPT_ASSIGN(also.out, target_path(also.out));
    CKPT_TRY(check_apart(conversion.in, also.out));
  }
  CKPT_ASSIGN(const Format* format, recognise(conversion.in));
  out.in_format = format->name;
  CKPT_ASSIGN(Checkpoint checkpoint, format->read(conversion.in, all_codecs()));
  if (!conversion.tokenizer.empty()) CKPT_TRY(take_tokenizer(checkpoint, conversion.tokenizer));

  Imatrix imatrix;
  Context context = step_context(&out.notes);
  if (!conversion.imatrix.empty()) {
    CKPT_ASSIGN(imatrix, read_imatrix(conversion.imatrix));
    context.imatrix = &imatrix;
  }
  CKPT_ASSIGN(std::vector<Step> steps, parse_steps(conversion.steps));
  if (steps.empty()) steps = conversion.recipe_steps;
  CKPT_ASSIGN(checkpoint, apply_steps(steps, std::move(checkpoint), context));
  CKPT_TRY(add_output(out.plan, checkpoint, conversion, context));
  for (const AlsoOutput& also : conversion.also) {
    Conversion other = conversion;
    other.out = also.out;
    other.to = also.to;
    other.is_beside_export = is_export_type(conversion.to);
    CKPT_TRY(add_output(out.plan, checkpoint, other, context));
  }
  note_unused(conversion, context);
  CKPT_TRY(check(out.plan));
  CKPT_TRY(check_targets(out.plan, input_paths(conversion, steps), conversion.force));
  return out;
}

}  // namespace ckpt
