#include "plan/conversion/added_steps.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/model/adapter.h"
#include "core/model/codec.h"
#include "plan/conversion/option_table.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

// The option of the command line that sets this output's type.
std::string type_option(const OutputPlanning& planning, std::string_view type) {
  return planning.is_also ? fmt::format("--also {}={}", planning.conversion.out.string(), type)
                          : fmt::format("--to {}", type);
}

// Whether a flag applies to this output: searches that only NVFP4 has belong to an export, if any.
bool is_meant_for(std::string_view step, const Options::Pair& flag, const Conversion& conversion) {
  // A folder that is made of a GGUF without --to keeps the types of the file anyway.
  if (step == "from-gguf" && flag.first == "keep") return is_float_type(conversion.to);
  if (step != "quantize" || flag.first != "search") return true;
  const auto exports = [](const AlsoOutput& also) { return is_export_type(also.to); };
  const bool has_export =
      conversion.is_beside_export || std::ranges::any_of(conversion.also, exports);
  return flag.second == "best" || flag.second == "none" || !has_export;
}

// Runs the step with those flags that it accepts, and notes them as used.
Result<Checkpoint> run_step(std::string_view name, Options options, Checkpoint checkpoint,
                            const OutputPlanning& planning) {
  const Transform* step = find_transform(name);
  CKPT_CHECK(step != nullptr);
  for (const Options::Pair& given : planning.conversion.flags.pairs()) {
    const ConvertOption* flag = find_convert_option(given.first);
    CKPT_CHECK(flag != nullptr && flag->step() != nullptr);
    const StepKey& own = *flag->step();
    const OptionRule* rule = find_rule(step->options, own.key);
    if (rule == nullptr || !is_meant_for(name, given, planning.conversion)) continue;
    CKPT_TRY(in(fmt::format("step {}", name),
                check_value(*rule, given.second, fmt::format("--{} ", flag->name))));
    options.add(std::string(own.key), own.value.empty() ? given.second : std::string(own.value));
    planning.use.add(flag->name);
  }
  return step->apply(std::move(checkpoint), options, planning.context);
}

Result<Checkpoint> run_to_gguf(Checkpoint checkpoint, const OutputPlanning& planning) {
  const std::string& to = planning.conversion.to;
  Options options{{"outtype", is_float_type(to) ? to : "auto"}};
  if (!planning.conversion.mmproj.empty()) options.add("note-towers", "no");
  return run_step("to-gguf", std::move(options), std::move(checkpoint), planning);
}

// Makes a projector. --to gives its type if the projector is OUT; otherwise --mmproj-type does.
Result<Checkpoint> made_projector(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const std::string& to = conversion.to;
  if (!is_gguf_path(conversion.out)) {
    return misuse("OUT '{}': a projector is a file that ends in .gguf (--mmproj-only)",
                  conversion.out.string());
  }
  const bool has_type = conversion.flags.has("mmproj-type");
  if (!to.empty() && has_type && conversion.mmproj.empty()) {
    return misuse_hint("one of them",
                       "--to {} and --mmproj-type: with --mmproj-only both are OUT's type", to);
  }
  if (!to.empty() && !is_float_type(to) && to != "q8_0") {
    return misuse_hint("--to q8_0", "--to {}: a projector is f32, f16, bf16 or q8_0", to);
  }
  Options options;
  if (!to.empty() && !has_type) options.add("mmproj-type", to);
  return run_step("to-mmproj", std::move(options), std::move(checkpoint), planning);
}

Result<Checkpoint> quantized(Checkpoint checkpoint, const OutputPlanning& planning) {
  const std::string& to = planning.conversion.to;
  if (!is_float_type(to)) planning.use.add("imatrix");
  return run_step("quantize", {{"type", to}}, std::move(checkpoint), planning);
}

bool chooses_types(const Conversion& conversion) {
  constexpr std::string_view kNames[] = {"keep", "only", "tensor-type", "output-tensor-type",
                                         "token-embedding-type"};
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return conversion.flags.has(name); });
}

// Quantizes weights for inference servers: NVFP4 or FP8 with scales and configuration.
Result<Checkpoint> exported(Checkpoint checkpoint, const OutputPlanning& planning) {
  planning.use.add("imatrix");
  return run_step("export", {{"type", planning.conversion.to}}, std::move(checkpoint), planning);
}

// Whether a GGUF can hold some of the weights without another rounding.
bool holds_nvfp4(const Checkpoint& checkpoint) {
  const Codec& blocks = plain_codec(all_codecs(), Dtype::kNvfp4);
  return std::ranges::any_of(checkpoint.tensors, [&](const Tensor& tensor) {
    return find_repack(*tensor.codec, blocks) != nullptr;
  });
}

// Makes floats of NVFP4 weights. Requires a float type or --allow-requantize, because quantizing
// them again would round them a second time.
Result<Checkpoint> dequantized_for(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const bool may_requantize = conversion.flags.has("allow-requantize");
  if (may_requantize) planning.use.add("allow-requantize");
  if (!is_float_type(conversion.to) && !may_requantize) {
    return misuse_hint(
        "no --to, which keeps them, the checkpoint they were made from, or --allow-requantize",
        "weights are NVFP4; making them {} would round them a second time", conversion.to);
  }
  return run_step("dequantize", {}, std::move(checkpoint), planning);
}

// Rejects FP8 layers of an export, because a GGUF would store the rounded values as floats.
Status refuse_exported_fp8(const Checkpoint& checkpoint) {
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.is_stored() || !is_fp8(tensor.codec->scheme)) continue;
    return misuse_hint("--keep instead of --fp8, or an OUT that is a folder",
                       "tensor '{}' would be FP8, which a GGUF does not hold", tensor.name);
  }
  return {};
}

// Makes the LoRA adapter file that llama.cpp loads together with a model.
Result<Checkpoint> made_adapter(Checkpoint checkpoint, const OutputPlanning& planning) {
  const std::string& to = planning.conversion.to;
  if (!to.empty() && !is_float_type(to) && to != "q8_0") {
    return misuse_hint(type_option(planning, "q8_0"),
                       "{}: a GGUF adapter is f32, f16, bf16 or q8_0", type_option(planning, to));
  }
  planning.use.add("base");
  return run_step("lora-to-gguf",
                  {{"base", planning.conversion.base}, {"outtype", to.empty() ? "f32" : to}},
                  std::move(checkpoint), planning);
}

Result<Checkpoint> steps_for_gguf(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const bool made_here = checkpoint.format != "gguf";
  if (made_here && !adapter_words(checkpoint).empty()) {
    return made_adapter(std::move(checkpoint), planning);
  }
  const bool wants_nvfp4 = is_export_type(conversion.to) && conversion.to != "fp8";
  if (made_here) {
    const bool has_nvfp4 = holds_nvfp4(checkpoint);
    if (wants_nvfp4 && !has_nvfp4) {
      CKPT_ASSIGN(checkpoint, exported(std::move(checkpoint), planning));
      CKPT_TRY(refuse_exported_fp8(checkpoint));
    } else if (has_nvfp4 && !wants_nvfp4 && !conversion.to.empty()) {
      CKPT_ASSIGN(checkpoint, dequantized_for(std::move(checkpoint), planning));
    }
    CKPT_ASSIGN(checkpoint, run_to_gguf(std::move(checkpoint), planning));
  } else if (wants_nvfp4) {
    return misuse_hint(
        type_option(planning, "nvfp4-ggml") + ", llama.cpp's own encoder without tensor scales",
        "{} takes a Hugging Face folder as IN", type_option(planning, conversion.to));
  }
  // to-gguf has made the file of floats already; llama-quantize would only sort it again.
  const bool done = conversion.to.empty() || wants_nvfp4 ||
                    (made_here && is_float_type(conversion.to) && !chooses_types(conversion));
  if (done) return checkpoint;
  return quantized(std::move(checkpoint), planning);
}

// Turns a GGUF into a folder: its weights become floats, and NVFP4 weights keep their values.
Result<Checkpoint> returned_to_folder(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const Codec& nvfp4 = plain_codec(all_codecs(), Dtype::kNvfp4);
  const bool has_nvfp4 = std::ranges::any_of(
      checkpoint.tensors, [&](const Tensor& tensor) { return tensor.codec == &nvfp4; });
  const bool keeps = conversion.to.empty() || (has_nvfp4 && conversion.to.starts_with("nvfp4"));
  if (!keeps && (has_nvfp4 || !is_float_type(conversion.to))) {
    return misuse_hint("no --to, and then that folder to the other type", "{}: {}",
                       type_option(planning, conversion.to),
                       has_nvfp4 ? "NVFP4 of a GGUF comes back as it is"
                                 : "a GGUF comes back as f32, f16 or bf16");
  }
  Options options;
  if (!keeps) options.add("type", conversion.to);
  if (!conversion.base.empty()) {
    options.add("base", conversion.base);
    planning.use.add("base");
  }
  if (!conversion.tokenizer.empty()) {
    options.add("tokenizer", conversion.tokenizer);
    planning.use.add("tokenizer");
  }
  return run_step("from-gguf", std::move(options), std::move(checkpoint), planning);
}

Result<Checkpoint> steps_for_folder(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  if (checkpoint.format == "gguf") return returned_to_folder(std::move(checkpoint), planning);
  if (conversion.to.empty()) return checkpoint;
  if (is_export_type(conversion.to)) return exported(std::move(checkpoint), planning);
  if (!is_float_type(conversion.to)) {
    const std::string out = (conversion.out / "").parent_path().string() + ".gguf";
    return misuse_hint(planning.is_also
                           ? "--also " + shell_word(fmt::format("{}={}", out, conversion.to))
                           : convert_line(conversion, shell_path(out)),
                       "{} is a GGUF type; OUT '{}' is a folder",
                       type_option(planning, conversion.to), conversion.out.string());
  }
  if (holds_packed_weights(checkpoint)) {
    // Packed weights may come with a float type other than the requested one.
    CKPT_ASSIGN(checkpoint,
                run_step("dequantize", {{"type", conversion.to}}, std::move(checkpoint), planning));
    return run_step("cast", {{"type", conversion.to}}, std::move(checkpoint), planning);
  }
  const bool has_codes = checkpoint.first_with_scales() != nullptr;
  return run_step(has_codes ? "dequantize" : "cast", {{"type", conversion.to}},
                  std::move(checkpoint), planning);
}

}  // namespace

bool is_export_type(std::string_view type) {
  return type == "nvfp4" || type == "nvfp4-w4a16" || type == "fp8";
}
bool is_float_type(std::string_view type) {
  return type == "f32" || type == "f16" || type == "bf16";
}
bool is_gguf_path(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

Result<Checkpoint> apply_added_steps(Checkpoint checkpoint, const OutputPlanning& planning) {
  if (planning.conversion.mmproj_only) return made_projector(std::move(checkpoint), planning);
  const Metadata& keys = checkpoint.metadata;
  const std::string nextn = fmt::format("{}.nextn_predict_layers", keys.architecture());
  if (keys.find_unsigned(nextn).value_or(0) > 0 && planning.conversion.flags.has("no-mtp")) {
    planning.use.add("no-mtp");
    CKPT_ASSIGN(checkpoint, run_step("drop", {{"layers", "mtp"}}, std::move(checkpoint), planning));
  }
  return is_gguf_path(planning.conversion.out) ? steps_for_gguf(std::move(checkpoint), planning)
                                               : steps_for_folder(std::move(checkpoint), planning);
}

}  // namespace ckpt
