#include "tools/added_steps.h"

#include <algorithm>

#include "core/model/codec.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

bool is_float_type(std::string_view type) {
  return type == "f32" || type == "f16" || type == "bf16";
}

Result<Checkpoint> apply(std::string_view name, const Options& options, Checkpoint checkpoint,
                         const Context& context) {
  const Transform* transform = find_transform(name);
  CKPT_CHECK(transform != nullptr);
  return transform->apply(std::move(checkpoint), options, context);
}

// The options of one step, and the note that it took them.
class StepOptions {
 public:
  StepOptions(std::string_view type_key, std::string_view type, OptionUse& use) : use_(use) {
    options_.add(std::string(type_key), std::string(type));
  }
  // `key` is what the step calls the option `name`.
  void add(std::string_view name, std::string_view key, std::string_view value) {
    use_.add(name);
    options_.add(std::string(key), std::string(value));
  }
  void add_text(std::string_view name, const std::string& value) {
    if (!value.empty()) add(name, name, value);
  }
  void add_flag(std::string_view name, bool is_set) {
    if (is_set) add(name, name, "yes");
  }
  void add_rules(const Conversion& conversion, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : conversion.type_rules) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) add(key, key, value);
    }
  }
  const Options& get() const { return options_; }

 private:
  Options options_;
  OptionUse& use_;
};

Result<Checkpoint> made_gguf(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  StepOptions options("outtype", is_float_type(conversion.to) ? conversion.to : "auto",
                      planning.use);
  if (conversion.no_mtp) options.add("no-mtp", "mtp", "no");
  options.add_text("tokenizer-pre", conversion.tokenizer_pre);
  options.add_text("model-name", conversion.model_name);
  return apply("to-gguf", options.get(), std::move(checkpoint), planning.context);
}

// Searches that only NVFP4 has mean another output, where there is one.
void add_search(const Conversion& conversion, StepOptions& options) {
  const auto exports = [](const AlsoOutput& also) { return is_export_type(also.to); };
  const bool beside = conversion.is_beside_export ||
                      std::any_of(conversion.also.begin(), conversion.also.end(), exports);
  for (const auto& [key, value] : conversion.export_options) {
    const bool fits = value == "best" || value == "none" || !beside;
    if (key == "search" && fits) options.add(key, key, value);
  }
}

Result<Checkpoint> quantized(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  StepOptions options("type", conversion.to, planning.use);
  add_search(conversion, options);
  options.add_rules(conversion, {"keep", "tensor-type"});
  options.add_text("output-tensor-type", conversion.output_tensor_type);
  options.add_text("token-embedding-type", conversion.token_embedding_type);
  options.add_flag("allow-requantize", conversion.allow_requantize);
  options.add_flag("pure", conversion.pure);
  options.add_flag("leave-output-tensor", conversion.leave_output_tensor);
  if (!is_float_type(conversion.to)) planning.use.add("imatrix");
  return apply("quantize", options.get(), std::move(checkpoint), planning.context);
}

bool chooses_types(const Conversion& conversion) {
  return !conversion.type_rules.empty() || !conversion.output_tensor_type.empty() ||
         !conversion.token_embedding_type.empty();
}

// Weights as inference servers take them: NVFP4 and FP8 with their scales and configuration.
Result<Checkpoint> exported(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  StepOptions options("type", conversion.to, planning.use);
  for (const auto& [key, value] : conversion.export_options) options.add(key, key, value);
  options.add_rules(conversion, {"keep", "only"});
  planning.use.add("imatrix");
  return apply("export", options.get(), std::move(checkpoint), planning.context);
}

// Weights that GGUF can hold as they are.
bool holds_nvfp4(const Checkpoint& checkpoint) {
  const Codec& blocks = plain_codec(all_codecs(), Dtype::kNvfp4);
  return std::any_of(
      checkpoint.tensors.begin(), checkpoint.tensors.end(),
      [&](const Tensor& tensor) { return find_repack(*tensor.codec, blocks) != nullptr; });
}

// Codes of 4 bits stay what they are, or become floats and are rounded a second time.
Result<Checkpoint> dequantized_for(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  if (conversion.allow_requantize) planning.use.add("allow-requantize");
  if (!is_float_type(conversion.to) && !conversion.allow_requantize) {
    return fail_with_hint(ErrorCode::kUsage,
                          "no --to, which keeps them, the checkpoint they were made from, or "
                          "--allow-requantize",
                          "weights are NVFP4; making them {} would round them a second time",
                          conversion.to);
  }
  return apply("dequantize", {}, std::move(checkpoint), planning.context);
}

Result<Checkpoint> towards_gguf(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const bool made_here = checkpoint.format != "gguf";
  const bool wants_nvfp4 = is_export_type(conversion.to) && conversion.to != "fp8";
  if (made_here) {
    const bool has_nvfp4 = holds_nvfp4(checkpoint);
    if (wants_nvfp4 && !has_nvfp4) {
      CKPT_ASSIGN(checkpoint, exported(std::move(checkpoint), planning));
    } else if (has_nvfp4 && !wants_nvfp4 && !conversion.to.empty()) {
      CKPT_ASSIGN(checkpoint, dequantized_for(std::move(checkpoint), planning));
    }
    CKPT_ASSIGN(checkpoint, made_gguf(std::move(checkpoint), planning));
  } else if (wants_nvfp4) {
    return fail_with_hint(ErrorCode::kUsage,
                          "--to nvfp4-ggml, llama.cpp's own encoder without tensor scales",
                          "--to {} takes a Hugging Face folder as IN", conversion.to);
  }
  // What the converter writes is a float file already; llama-quantize would sort it anew.
  const bool done = conversion.to.empty() || wants_nvfp4 ||
                    (made_here && is_float_type(conversion.to) && !chooses_types(conversion));
  if (done) return checkpoint;
  return quantized(std::move(checkpoint), planning);
}

// Weights as GGUF stores them become floats; NVFP4 has a form in both.
Result<Checkpoint> returned_to_folder(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  const Codec& nvfp4 = plain_codec(all_codecs(), Dtype::kNvfp4);
  const bool has_nvfp4 = std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                     [&](const Tensor& tensor) { return tensor.codec == &nvfp4; });
  const bool keeps = conversion.to.empty() || (has_nvfp4 && conversion.to.starts_with("nvfp4"));
  if (!keeps && (has_nvfp4 || !is_float_type(conversion.to))) {
    return fail_with_hint(ErrorCode::kUsage, "no --to, and then that folder to the other type",
                          "--to {}: {}", conversion.to,
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
  return apply("from-gguf", options, std::move(checkpoint), planning.context);
}

Result<Checkpoint> towards_folder(Checkpoint checkpoint, const OutputPlanning& planning) {
  const Conversion& conversion = planning.conversion;
  if (checkpoint.format == "gguf") return returned_to_folder(std::move(checkpoint), planning);
  if (conversion.to.empty()) return checkpoint;
  if (is_export_type(conversion.to)) return exported(std::move(checkpoint), planning);
  if (!is_float_type(conversion.to)) {
    return fail_with_hint(ErrorCode::kUsage, "an OUT that ends in .gguf",
                          "--to {} is a GGUF type; OUT '{}' is a folder", conversion.to,
                          conversion.out.string());
  }
  StepOptions options("type", conversion.to, planning.use);
  const bool has_codes = checkpoint.first_with_scales() != nullptr;
  if (!has_codes) options.add_rules(conversion, {"keep"});
  return apply(has_codes ? "dequantize" : "cast", options.get(), std::move(checkpoint),
               planning.context);
}

}  // namespace

bool is_export_type(std::string_view type) {
  return type == "nvfp4" || type == "nvfp4-w4a16" || type == "fp8";
}
bool is_gguf_path(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

Result<Checkpoint> apply_added_steps(Checkpoint checkpoint, const OutputPlanning& planning) {
  return is_gguf_path(planning.conversion.out) ? towards_gguf(std::move(checkpoint), planning)
                                               : towards_folder(std::move(checkpoint), planning);
}

}  // namespace ckpt
