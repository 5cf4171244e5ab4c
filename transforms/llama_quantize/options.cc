#include "transforms/llama_quantize/options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "core/base/words.h"
#include "core/model/usual_type.h"

namespace ckpt {
namespace {

constexpr Choice kBlockSearches[] = {{"none", false}, {"best", true}};

// Types whose blocks exist only in memory.
bool is_compute_only(Dtype dtype) { return dtype == Dtype::kQ8_1 || dtype == Dtype::kQ8K; }

Result<Dtype> parse_type(const std::string& text, std::string_view option, Codecs codecs) {
  const std::string name = lower_case(text);
  std::vector<std::string_view> names;
  for (uint32_t i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (find_target_codec(codecs, dtype) == nullptr) continue;
    if (info(dtype).name == name) return dtype;
    names.push_back(info(dtype).name);
  }
  return misuse("{}: no type is called '{}'; expected one of {}", option, text,
                fmt::join(names, ", "));
}

Status read_type(const OptionValues& options, std::string_view key, Codecs codecs,
                 std::optional<Dtype>& out) {
  if (const auto text = options.find(key)) CKPT_SET(out, parse_type(*text, key, codecs));
  return {};
}

Result<TypeRule> parse_rule(const OptionValues::Value& value, Codecs codecs) {
  const bool is_kept = value.rule->name == "keep";
  const size_t end = is_kept ? value.text.size() : value.text.rfind('=');
  TypeRule rule{fmt::format("{}={}", value.rule->name, value.text), value.text.substr(0, end)};
  rule.sees_output_name = rule.glob.starts_with("out:");
  if (rule.sees_output_name) rule.glob.erase(0, 4);
  if (!is_kept) {
    CKPT_ASSIGN(rule.type, parse_type(value.text.substr(end + 1), value.rule->name, codecs));
  }
  return rule;
}

}  // namespace

constinit const OptionRule kQuantizeOptions[10] = {
    option::choice("type", kMixtureChoices,
                   "type of the file, as llama-quantize names them: " CKPT_USUAL_TYPE
                   ", q8_0, bf16")
        .called("NAME")
        .required(),
    option::pair("tensor-type", "GLOB=TYPE",
                 "type of the tensors that match, by their names in IN or OUT; out:GLOB sees those "
                 "in OUT alone; a regular expression is found in names in OUT; the last match wins")
        .repeated(),
    option::glob("keep", "tensors that keep their type").repeated(),
    option::type("output-tensor-type", "type of output.weight"),
    option::type("token-embedding-type", "type of token_embd.weight"),
    option::yes_no("allow-requantize", "allow another type for tensors that are quantized"),
    option::yes_no("pure", "no mixture: one type for all tensors that are quantized"),
    option::yes_no("leave-output-tensor", "copy output.weight"),
    option::choice("search", kBlockSearches,
                   "K-quants of 4 to 6 bits, with moments of 2 to 6: blocks with less error than "
                   "llama-quantize's")
        .by_default("none"),
    option::path("moments", "FILE", "second moments of the layers' inputs, for search=best"),
};

TypeRules::TypeRules(std::vector<TypeRule> rules) : rules_(std::move(rules)) {
  std::vector<std::string> globs;
  for (const TypeRule& rule : rules_) globs.push_back(rule.glob);
  globs_ = GlobList(globs);
}

void TypeRules::take_regexes(const std::vector<Tensor>& tensors) {
  std::vector<bool> is_glob(rules_.size());
  for (const Tensor& tensor : tensors) {
    for (const uint32_t i : matching(tensor)) is_glob[i] = true;
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (is_glob[i] || !rules_[i].type) continue;
    if (auto regex = Regex::parse(rules_[i].glob)) rules_[i].regex = std::move(*regex);
  }
}

std::vector<uint32_t> TypeRules::matching(const Tensor& tensor) const {
  std::vector<uint32_t> out = globs_.matching(tensor.name);
  if (!tensor.source_name.empty()) {
    for (const uint32_t i : globs_.matching(tensor.source_name)) {
      if (!rules_[i].sees_output_name) out.push_back(i);
    }
  }
  for (uint32_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].regex && rules_[i].regex->is_found_in(tensor.name)) out.push_back(i);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const Codec* find_target_codec(Codecs codecs, Dtype dtype) {
  if ((!is_float(dtype) && !is_block_type(dtype)) || is_compute_only(dtype)) return nullptr;
  for (const Codec* codec : codecs) {
    if (codec->encode != nullptr && plain_dtype(*codec) == dtype) return codec;
  }
  return nullptr;
}

Result<QuantizeOptions> read_quantize_options(const OptionValues& options, Codecs codecs) {
  QuantizeOptions out;
  out.mixture = &all_mixtures()[options.choice<size_t>("type")];
  std::vector<TypeRule> rules;
  for (const OptionValues::Value& value : options.given()) {
    if (value.rule->name != "tensor-type" && value.rule->name != "keep") continue;
    CKPT_ASSIGN(rules.emplace_back(), parse_rule(value, codecs));
  }
  out.rules = TypeRules(std::move(rules));
  MixtureOptions& mixture = out.mixture_options;
  CKPT_TRY(read_type(options, "output-tensor-type", codecs, mixture.output));
  CKPT_TRY(read_type(options, "token-embedding-type", codecs, mixture.token_embedding));
  mixture.pure = options.yes("pure");
  mixture.leave_output = options.yes("leave-output-tensor");
  out.allow_requantize = options.yes("allow-requantize");
  out.searches = options.choice<bool>("search");
  out.moments = options.text("moments");
  if (!out.moments.empty() && !out.searches) {
    return misuse_hint("--search best", "moments: only search=best uses them");
  }
  return out;
}

}  // namespace ckpt
