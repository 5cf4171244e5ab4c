// Compares the tensors of a GGUF with those of its architecture in llama.cpp v0.5.0, which stops at
// a missing, unknown or differently shaped one. Sources: src/llama-model-loader.cpp
// (check_tensor_dims, done_getting_tensors), src/llama-model.cpp (create_tensor_qkv,
// create_tensor_gate_up_exps, the generic pass over scales).
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "checks/gguf/gguf_rules.h"
#include "checks/subject/subject.h"
#include "core/base/words.h"
#include "models/models.h"

namespace ckpt {
namespace {

constexpr std::string_view kScaled =
    " attn_q attn_k attn_v attn_output attn_qkv attn_gate ffn_gate ffn_down ffn_up ffn_gate_shexp"
    " ffn_down_shexp ffn_up_shexp ssm_in ssm_out ssm_alpha ssm_beta nextn.eh_proj"
    " nextn.shared_head_head ";
constexpr std::string_view kScaledExperts = " ffn_gate_exps ffn_down_exps ffn_up_exps ";

constexpr std::string_view kBlock = "blk.";

// Returns ".attn_q.bias" for "blk.3.attn_q.bias".
std::string_view tensor_kind(std::string_view name) {
  const size_t block = name.find(kBlock);
  return name.substr(
      std::min(name.size(), name.find('.', block == name.npos ? 0 : block + kBlock.size())));
}

// How the blocks that a row applies to fulfill it.
struct RowUse {
  std::vector<std::string> missing, found;
};

class GgufTensors {
 public:
  GgufTensors(const CheckContext& context, const GgufArchitecture& rules)
      : check_(context), rules_(rules), numbers_(context.on.checkpoint, rules) {}

  Status run() {
    const uint64_t own = rules_.has_nextn ? numbers_.blocks() : numbers_.trunk();
    const uint64_t blocks = std::max(own, numbers_.decoders());
    for (uint64_t block = 0; block < std::max<uint64_t>(blocks, 1); ++block) {
      CKPT_TRY(check_block(block));
    }
    check_leftovers();
    tell();
    return {};
  }

 private:
  Status check_block(uint64_t block) {
    of_block_ = numbers_.of(block);
    block_ = block;
    is_unread_ = of_block_["nextn"] == true;
    may_lack_ = is_unread_ && rules_.may_lack_nextn &&
                find(numbers_.draft()) == nullptr;
    size_t row_index = 0;
    for (const auto rows : rules_.rows) {
      for (const GgufRow& row : rows) {
        const size_t index = row_index++;
        const bool is_of_block = row.name.find("{}") != row.name.npos;
        const bool is_of_file = has_word(row.when, "first") || has_word(row.when, "full_first");
        if (!is_of_block && !is_of_file && block != 0) continue;
        if (!holds(row.when)) continue;
        if (uses_.size() <= index) uses_.resize(index + 1);
        CKPT_TRY(check_row(row, uses_[index]));
      }
    }
    return {};
  }

  // Whether the block meets the condition in a row.
  bool holds(std::string_view when) const {
    for (std::string_view word : split_words(when)) {
      if (has_word("optional alone biased needed read reshaped longer f32 i32 any", word)) continue;
      const bool is_wanted = !word.starts_with('!');
      if (!is_wanted) word.remove_prefix(1);
      const JsonValue* value = member(of_block_, word);
      if ((value != nullptr && is_truthy(value)) != is_wanted) return false;
    }
    return true;
  }

  const Tensor* find(const std::string& name) const { return check_.on.tensor(name); }

  std::string named(std::string_view pattern) const {
    std::string out(pattern);
    const size_t at = out.find("{}");
    if (at != out.npos) out.replace(at, 2, fmt::format("{}", block_));
    return out;
  }

  // Evaluates a shape, in GGUF's order of dimensions.
  Result<std::vector<uint64_t>> shape_of(std::string_view text) const {
    static constexpr Family kNoTable{};
    return numbers_of_fields(kNoTable, of_block_, text);
  }

  // Whether the tensor exists. Reports a wrong shape; such a tensor counts as existing.
  bool check_tensor(const std::string& name, std::vector<uint64_t> shape,
                    std::string_view when = {}) {
    const Tensor* tensor = find(name);
    if (tensor == nullptr) return false;
    used_.insert(tensor);
    check_type(*tensor, shape, when);
    std::ranges::reverse(shape);
    const auto bare = [](std::vector<uint64_t> sizes) {
      while (sizes.size() > 1 && sizes.front() == 1) sizes.erase(sizes.begin());
      return sizes;
    };
    std::vector<uint64_t> held = tensor->shape.empty() ? std::vector<uint64_t>{1} : tensor->shape;
    const auto size = [](const std::vector<uint64_t>& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), uint64_t{1}, std::multiplies<>());
    };
    if (has_word(when, "longer")) shape[0] = std::max(shape[0], held[0]);
    const bool fits =
        has_word(when, "reshaped") ? size(held) == size(shape) : bare(held) == bare(shape);
    if (!fits) {
      if (wrong_.empty()) {
        first_wrong_ = fmt::format("{}; expected {}", shape_text(tensor->shape), shape_text(shape));
      }
      wrong_.push_back(tensor->name);
    }
    return true;
  }

  void check_type(const Tensor& tensor, const std::vector<uint64_t>& shape,
                  std::string_view when) {
    if (is_unread_) return;
    const auto type = plain_dtype(*tensor.codec);
    const bool must_be_float =
        has_word(when, "f32") || is_added_or_multiplied(tensor.name, shape);
    const bool is_float = type != Dtype::kF64 && !is_whole_number(type) &&
                          (!must_be_float || type == Dtype::kF32 || has_word(when, "any"));
    const bool is_number = has_word(when, "i32");
    if (is_number ? type == Dtype::kI32 : is_float) return;
    if (unread_types_.empty()) {
      first_unread_ =
          fmt::format("in {}; expected {}", tensor.codec->name, is_number ? "i32" : "f32");
    }
    unread_types_.push_back(tensor.name);
  }

  // True for norms, biases, convolutions and similar; matrices of products may have any type.
  static bool is_added_or_multiplied(std::string_view name, const std::vector<uint64_t>& shape) {
    if (name.ends_with("ffn_gate_inp_shexp.weight")) return false;
    return shape.size() == 1 || name.ends_with("norm.weight") || name.ends_with(".bias") ||
           name.ends_with("conv.weight") || name.ends_with("conv1d.weight") ||
           name.ends_with(".ssm_a") || name.ends_with(".ssm_d");
  }

  static bool is_whole_number(std::optional<Dtype> type) {
    return type == Dtype::kI8 || type == Dtype::kI16 || type == Dtype::kI32 || type == Dtype::kI64;
  }

  Status check_row(const GgufRow& row, RowUse& use) {
    if (row.name.ends_with("{q,k,v}")) return check_attention(row, use);
    if (row.name.ends_with("{gate,up}_exps")) return check_gates(row, use);
    const std::vector<std::string> patterns = each_name(row.name);
    const Need need = need_of(row);
    for (const std::string& pattern : patterns) {
      CKPT_ASSIGN(auto shape, shape_of(row.shape));
      const bool is_turned = patterns.size() > 1 && pattern.find("ffn_down") != pattern.npos;
      if (is_turned) std::swap(shape[0], shape[1]);
      const std::string name = named(pattern);
      const bool is_there = check_tensor(name, std::move(shape), row.when);
      settle(name, is_there, need, use, has_word(row.when, "alone"));
    }
    return {};
  }

  enum class Need { kAll, kSound, kAlike, kNone };
  Need need_of(const GgufRow& row) const {
    const bool is_needed = has_word(row.when, "needed");
    if (is_unread_ && (is_needed || has_word(row.when, "read"))) return Need::kNone;
    return is_needed ? Need::kSound : has_word(row.when, "optional") ? Need::kAlike : Need::kAll;
  }
  void settle(const std::string& name, bool is_there, Need need, RowUse& use, bool is_alone) {
    if (is_there) {
      if (need == Need::kAlike && !is_alone) use.found.push_back(name);
    } else if (need == Need::kAll && !may_lack_) {
      missing_.push_back(name);
    } else if (need == Need::kSound) {
      lost_.push_back(name);
    } else if (need == Need::kAlike && !is_alone && !may_lack_ &&
               name.find(kBlock) != name.npos) {
      use.missing.push_back(name);
    }
  }

  Status check_attention(const GgufRow& row, RowUse& use) {
    CKPT_ASSIGN(const auto sizes, shape_of(row.shape));
    const std::string stem = named(row.name.substr(0, row.name.find("{q,k,v}")));
    const uint64_t in = sizes[0], all = sizes[1] + sizes[2] + sizes[3];
    const bool is_fused = check_tensor(stem + "qkv.weight", {in, all});
    const bool has_bias = (is_fused || is_unread_) && check_tensor(stem + "qkv.bias", {all});
    const bool is_biased = has_word(row.when, "biased");
    for (size_t part = 0; part < 3; ++part) {
      const std::string name = fmt::format("{}{}", stem, "qkv"[part]);
      if (!is_fused || is_unread_) {
        const bool is_there = check_tensor(name + ".weight", {in, sizes[part + 1]});
        settle(name + ".weight", is_there, is_unread_ ? Need::kNone : Need::kAll, use, false);
      }
      if (has_bias && !is_unread_) continue;
      const bool is_there = check_tensor(name + ".bias", {sizes[part + 1]});
      if (!is_there && is_biased && !is_unread_) lost_.push_back(name + ".bias");
      settle(name + ".bias", is_there, is_unread_ ? Need::kNone : Need::kAlike, use, false);
    }
    return {};
  }

  Status check_gates(const GgufRow& row, RowUse& use) {
    CKPT_ASSIGN(const auto one, shape_of(row.shape));
    const std::string stem = named(row.name.substr(0, row.name.find("{gate,up}")));
    const bool is_fused = check_tensor(stem + "gate_up_exps.weight", {one[0], 2 * one[1], one[2]});
    if (is_fused && !is_unread_) return {};
    for (const std::string_view part : {"gate_exps.weight", "up_exps.weight"}) {
      const std::string name = fmt::format("{}{}", stem, part);
      const Need need = part.starts_with("gate") ? need_of(row) : Need::kAll;
      settle(name, check_tensor(name, one), is_unread_ ? Need::kNone : need, use, false);
    }
    return {};
  }

  // Whether the tensor is the scale of a weight in a block that is read, or of an NVFP4 head.
  bool is_scale(std::string_view name) const {
    if (!name.ends_with(".scale") && !name.ends_with(".input_scale")) return false;
    const std::string_view stem = name.substr(0, name.rfind('.'));
    const Tensor* weight = check_.on.tensor(fmt::format("{}.weight", stem));
    if (weight == nullptr || used_.count(weight) == 0) return false;
    if (stem == "output") return check_.on.checkpoint.format == "gguf";
    if (!stem.starts_with(kBlock)) return false;
    const size_t dot = stem.find('.', kBlock.size());
    if (dot == stem.npos || is_in_unread_block(stem)) return false;
    const std::string_view what = stem.substr(dot + 1);
    return has_word(kScaled, what) || has_word(kScaledExperts, what);
  }

  bool is_in_unread_block(std::string_view name) const {
    std::string_view number = name.substr(std::min<size_t>(name.size(), 4));
    number = number.substr(0, number.find('.'));
    uint64_t block = 0;
    return take_number(number, block) && block >= numbers_.trunk();
  }

  void check_leftovers() {
    for (const Tensor& tensor : check_.on.checkpoint.tensors) {
      const bool is_used = used_.count(&tensor) != 0 || is_scale(tensor.name);
      const bool has_lost_scale =
          tensor.has_scales() && tensor.name.starts_with("blk.") && is_in_unread_block(tensor.name);
      if (!is_used || has_lost_scale) extra_.push_back(tensor.name);
    }
  }

  void report_tensors(const std::vector<std::string>& names, std::string_view what,
                      std::string_view symptom, Severity severity) const {
    if (names.empty()) return;
    Mismatch all;
    for (const std::string& name : names) all.add(name);
    const bool are_single = std::ranges::any_of(
        extra_, [](const std::string& name) { return single_gguf_expert(name).has_value(); });
    std::optional<Fix> fix;
    if (are_single) fix = Fix{"experts:to=fused", {}, {}, false, 0};
    check_.report(all.first, all.text_at_first(what), severity, std::string(symptom), fix);
  }

  void tell() const {
    report_tensors(missing_, "missing", "tensor not found", Severity::kUnloaded);
    report_tensors(extra_, "no tensor of this architecture", "wrong number of tensors",
                   Severity::kUnloaded);
    report_tensors(wrong_, first_wrong_, "tensor has wrong shape", Severity::kUnloaded);
    report_tensors(unread_types_, first_unread_, "binary_op: unsupported types",
                   Severity::kUnloaded);
    report_tensors(lost_, "missing: the model has this tensor", "loads, and answers are noise",
                   Severity::kUnsound);
    for (const RowUse& use : uses_) {
      if (use.found.empty() || !lost_.empty()) continue;
      std::set<std::string_view> found;
      for (const std::string& name : use.found) found.insert(tensor_kind(name));
      std::vector<std::string> missing;  // in this block; a model may have one of three biases
      for (const std::string& name : use.missing) {
        if (found.contains(tensor_kind(name))) missing.push_back(name);
      }
      report_tensors(missing, fmt::format("missing; '{}' is there", use.found.front()),
                     "loads, and answers are noise", Severity::kUnsound);
    }
  }

  const CheckContext& check_;
  const GgufArchitecture& rules_;
  const GgufNumbers numbers_;
  JsonValue of_block_;
  uint64_t block_ = 0;
  bool is_unread_ = false;  // a block for multi-token prediction, which is not read
  bool may_lack_ = false;   // its tensors may be in another file
  std::unordered_set<const Tensor*> used_;
  std::vector<RowUse> uses_;
  std::vector<std::string> missing_, extra_, lost_, wrong_, unread_types_;
  std::string first_wrong_, first_unread_;
};

}  // namespace

Status check_gguf_tensors(const CheckContext& context, const GgufArchitecture& rules) {
  return GgufTensors(context, rules).run();
}

}  // namespace ckpt
