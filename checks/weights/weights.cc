// Checks of tensor names: does the program's class find them where it looks?
//
// Source: vLLM vllm/model_executor/models/qwen3_5.py and qwen3_vl.py (hf_to_vllm_mapper), utils.py
// (AutoWeightsLoader); transformers src/transformers/conversion_mapping.py.
// Names do not follow from model_type; a text-only folder may carry the wrapper's names.
#include <algorithm>

#include "checks/subject/subject.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

bool has_prefix(const Examined& on, std::string_view prefix) {
  const auto at = on.modules.lower_bound(std::string(prefix));
  return at != on.modules.end() && at->first.starts_with(prefix);
}

// The step that gives a text model's tensors the names that its class wants.
Fix renaming(const Examined& on) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"model.language_model.", "model."},
      {"language_model.model.", "model."},
      {"language_model.lm_head.", "lm_head."},
      {"language_model.layers.", "model.layers."},
      {"language_model.embed_tokens.", "model.embed_tokens."},
      {"language_model.norm.", "model.norm."},
      {"layers.", "model.layers."},
      {"embed_tokens.", "model.embed_tokens."},
      {"norm.", "model.norm."}};
  std::vector<std::string> rules;
  for (const auto& [from, to] : kNames) {
    const bool is_there = std::ranges::any_of(
        on.checkpoint.tensors, [&](const Tensor& tensor) { return tensor.name.starts_with(from); });
    if (is_there) rules.push_back(fmt::format("from={},to={}", from, to));
  }
  Fix out;
  out.step = fmt::format("rename:{}", fmt::join(rules, ","));
  return out;
}

void look_prefix(const Look& look) {
  const Examined& on = look.on;
  const std::string& root = on.parameters.root;
  const bool is_wrapper = on.model_class.ends_with("ForConditionalGeneration");
  if (is_wrapper && has_quirk(on.model_type, "wants_wrapper_names") &&
      has_prefix(on, "model.layers.") && !look.is(Program::kSglang)) {
    look.tell("model.layers.*", "names of the text model; '{}' wants model.language_model.layers.*",
              on.model_class);
  }
  const bool finds_any = look.is(Program::kVllm) && runs_by_fallback(look.profile, on.model_class);
  if (!on.parameters.is_compared() || finds_any) return;
  // Some text classes take the wrapper's names too.
  const bool is_bare =
      (root.empty() && !on.model_class.ends_with("Model")) || root == "language_model.";
  const bool is_wrapped =
      !is_wrapper && root.find("language_model.") != root.npos &&
      !(has_quirk(on.text_type, "takes_wrapper_names") && look.profile.rules == Rules::kVllm32);
  if (is_bare || is_wrapped) {
    std::string_view whose = is_wrapped ? "names of a wrapper" : "names of the text part alone";
    if (is_wrapped && !on.has_text_config()) {
      whose = "names of a wrapper, but config.json has no text_config";
    }
    // Of these one wrapper could be made, where others are renamed.
    const bool is_wrapped_again = has_quirk(on.text_type, "takes_wrapper_names");
    look.report(root + "layers.*",
                fmt::format("{}; '{}' wants {}layers.*", whose, on.model_class,
                            is_wrapper ? "model.language_model." : "model."),
                {}, {}, is_wrapped_again ? std::nullopt : std::optional(renaming(on)));
  }
}

// Codes and scales of MXFP4: X_blocks next to X_scales.
bool is_mxfp4_part(const Examined& on, const std::string& name) {
  constexpr std::string_view kBlocks = "_blocks", kScales = "_scales";
  const bool is_blocks = name.ends_with(kBlocks);
  if (!is_blocks && !name.ends_with(kScales)) return false;
  const std::string stem = name.substr(0, name.size() - kBlocks.size());
  return on.tensor(stem + std::string(is_blocks ? kScales : kBlocks)) != nullptr;
}

void look_unknown(const Look& look) {
  Mismatch found;
  for (const Tensor* tensor : look.on.stray) {
    const std::string& name = tensor->name;
    const auto dtype = plain_dtype(*tensor->codec);
    const bool is_codes = dtype == Dtype::kU8 || dtype == Dtype::kI8;
    const bool is_usual = name.ends_with(".bias") || name.ends_with(".A_log") ||
                          name.ends_with(".dt_bias") || name.ends_with("_scale") ||
                          name.ends_with("_amax") || name.find("_quantizer.") != name.npos;
    const bool is_packed = look.on.packed.parts.contains(name);
    if (look.on.is_gguf || is_usual || !is_codes || is_packed) continue;
    if (!is_mxfp4_part(look.on, name)) found.add(name);
  }
  if (found.count == 0) return;
  look.tell(found.first, "{} tensors of codes without their scales", found.count);
}

void look_packed(const Look& look) {
  const Quantization* said = look.on.quantization();
  if (look.on.packed.fault.empty()) return;
  look.report(said == nullptr ? "config.json" : said->place, look.on.packed.fault);
}

// Some classes read stacks of experts; transformers 5 has all others' so in memory alone.
void look_stacks(const Look& look) {
  if (look.on.is_gguf || has_quirk(ruling_type(look), "stacked_experts")) return;
  for (const Tensor& tensor : look.on.checkpoint.tensors) {
    if (!tensor.name.ends_with(".experts.gate_up_proj") || tensor.shape.size() != 3) continue;
    return look.report(tensor.name,
                       "all experts in one tensor, as transformers 5 has them in memory");
  }
}

constexpr Check kWeightChecks[] = {
    {"W01", "tensor names are those of the class", "U: vllm* tensorrt-llm, S: sglang",
     "There is no module or parameter named 'model' in Qwen3_5ForConditionalGeneration", "",
     look_prefix, "vl-wrap"},
    {"W12", "experts are single where the program reads them so",
     "U: vllm-0.16 vllm-0.17, S: sglang transformers-4.57, W: vllm tensorrt-llm",
     "KeyError: 'layers.0.mlp.experts.down_proj'; or experts of random numbers", "", look_stacks,
     "experts:to=single"},
    {"W03", "no codes without scales", "W: vllm* sglang tensorrt-llm llama.cpp transformers-5", "",
     "quantize again", look_unknown},
    {"W11", "parts of packed weights are there and fit", "U: all",
     "KeyError; size mismatch; wrong answers",
     "take config.json from the source model, or download the folder again", look_packed},
};

}  // namespace

std::span<const Check> weight_checks() { return kWeightChecks; }

}  // namespace ckpt
