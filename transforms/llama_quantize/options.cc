#include "transforms/llama_quantize/options.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/base/words.h"

namespace ckpt {
namespace {

// Types whose blocks only ever stand in memory.
bool is_compute_only(Dtype dtype) { return dtype == Dtype::kQ8_1 || dtype == Dtype::kQ8K; }

std::string target_names(Codecs codecs) {
  std::string out;
  for (uint32_t i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (find_target_codec(codecs, dtype) == nullptr) continue;
    if (!out.empty()) out += ", ";
    out += info(dtype).name;
  }
  return out;
}

Result<Dtype> parse_type(const std::string& text, std::string_view option, Codecs codecs) {
  const std::string name = lower_case(text);
  for (uint32_t i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (info(dtype).name == name && find_target_codec(codecs, dtype) != nullptr) return dtype;
  }
  return fail(ErrorCode::kUsage, "{}: no type is called '{}'; expected one of {}", option, text,
              target_names(codecs));
}

Result<std::optional<Dtype>> find_type(const Options& options, std::string_view key,
                                       Codecs codecs) {
  const auto text = options.get(key);
  if (!text) return std::optional<Dtype>();
  CKPT_ASSIGN(const Dtype type, parse_type(*text, key, codecs));
  return std::optional<Dtype>(type);
}

TypeRule make_rule(std::string text, std::string glob) {
  TypeRule rule;
  rule.text = std::move(text);
  rule.sees_output_name = glob.starts_with("out:");
  rule.glob = rule.sees_output_name ? glob.substr(4) : std::move(glob);
  return rule;
}

Result<TypeRule> parse_rule(const std::string& key, const std::string& value, Codecs codecs) {
  if (key == "keep") return make_rule("keep=" + value, value);
  const size_t equals = value.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(ErrorCode::kUsage, "tensor-type: '{}'; expected GLOB=TYPE, as in '*ffn_down*=q6_k'",
                value);
  }
  TypeRule rule = make_rule("tensor-type=" + value, value.substr(0, equals));
  CKPT_ASSIGN(rule.type, parse_type(value.substr(equals + 1), key, codecs));
  return rule;
}

Result<bool> parse_yes(const Options& options, std::string_view key) {
  const std::string value = options.get(key).value_or("no");
  if (options.yes(key)) return true;
  if (value == "no" || value == "false" || value == "0") return false;
  return fail(ErrorCode::kUsage, "{}: '{}'; expected yes or no", key, value);
}

Result<bool> parse_search(const Options& options) {
  const std::string value = options.get("search").value_or("none");
  if (value == "best" || value == "none") return value == "best";
  return fail(ErrorCode::kUsage, "search: '{}'; expected none or best (others are for nvfp4)",
              value);
}

}  // namespace

TypeRules::TypeRules(std::vector<TypeRule> rules)
    : rules_(std::move(rules)), on_either_(globs_of(false)), on_output_(globs_of(true)) {}

void TypeRules::take_parts(const std::vector<Tensor>& tensors) {
  const auto may_be_part = [](const TypeRule& rule) {
    return rule.type && rule.glob.find_first_of("*?[") == rule.glob.npos;
  };
  if (std::none_of(rules_.begin(), rules_.end(), may_be_part)) return;
  std::vector<bool> is_whole(rules_.size());
  for (const Tensor& tensor : tensors) {
    for (const uint32_t i : matching(tensor)) is_whole[i] = true;
  }
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (is_whole[i] || !may_be_part(rules_[i])) continue;
    rules_[i].glob = fmt::format("*{}*", rules_[i].glob);
    rules_[i].sees_output_name = true;
  }
  on_either_ = globs_of(false);
  on_output_ = globs_of(true);
}

TypeRules::Globs TypeRules::globs_of(bool sees_output_name) const {
  std::vector<std::string> globs;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].sees_output_name != sees_output_name) continue;
    globs.push_back(rules_[i].glob);
    numbers.push_back(i);
  }
  return {GlobList(globs), std::move(numbers)};
}

std::vector<uint32_t> TypeRules::matching(const Tensor& tensor) const {
  std::vector<uint32_t> out;
  const auto add = [&](const Globs& globs, std::string_view name) {
    for (const uint32_t i : globs.list.matching(name)) out.push_back(globs.rules[i]);
  };
  add(on_either_, tensor.name);
  if (!tensor.source_name.empty()) add(on_either_, tensor.source_name);
  add(on_output_, tensor.name);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

const Codec* find_target_codec(Codecs codecs, Dtype dtype) {
  if ((!is_float(dtype) && !is_quantized(dtype)) || is_compute_only(dtype)) return nullptr;
  for (const Codec* codec : codecs) {
    if (codec->encode != nullptr && ggml_type(*codec) == dtype) return codec;
  }
  return nullptr;
}

Result<QuantizeOptions> parse_quantize_options(const Options& options, Codecs codecs) {
  QuantizeOptions out;
  const auto name = options.get("type");
  if (!name) return fail(ErrorCode::kUsage, "type is missing; expected one of {}", mixture_names());
  out.mixture = find_mixture(*name);
  if (out.mixture == nullptr) {
    return fail(ErrorCode::kUsage, "type: no mixture is called '{}'; expected one of {}", *name,
                mixture_names());
  }
  std::vector<TypeRule> rules;
  for (const auto& [key, value] : options.pairs()) {
    if (key != "tensor-type" && key != "keep") continue;
    CKPT_ASSIGN(TypeRule rule, parse_rule(key, value, codecs));
    rules.push_back(std::move(rule));
  }
  out.rules = TypeRules(std::move(rules));
  CKPT_ASSIGN(out.mixture_options.output, find_type(options, "output-tensor-type", codecs));
  CKPT_ASSIGN(out.mixture_options.token_embedding,
              find_type(options, "token-embedding-type", codecs));
  CKPT_ASSIGN(out.mixture_options.pure, parse_yes(options, "pure"));
  CKPT_ASSIGN(out.mixture_options.leave_output, parse_yes(options, "leave-output-tensor"));
  CKPT_ASSIGN(out.allow_requantize, parse_yes(options, "allow-requantize"));
  CKPT_ASSIGN(out.searches, parse_search(options));
  return out;
}

}  // namespace ckpt
