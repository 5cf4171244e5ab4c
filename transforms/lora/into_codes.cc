// Merges adapters into weights of safetensors that are codes with scales. NVFP4 weights that
// servers fuse are encoded together when one of them changes, because they share a tensor scale.
#include <algorithm>
#include <map>

#include "core/base/nearest.h"
#include "core/json/json_read.h"
#include "core/model/name_index.h"
#include "core/model/tensor_names.h"
#include "transforms/lora/into_quantized.h"
#include "transforms/modelopt_export/groups.h"

namespace ckpt {
namespace {

bool is_code(const Tensor& tensor) { return tensor.codec->scheme != Scheme::kPlain; }

class MergeIntoCodes {
 public:
  MergeIntoCodes(Checkpoint checkpoint, const QuantizedMerge& how)
      : coded_(std::move(checkpoint)),
        coded_names_(names_in<std::string_view>(coded_.tensors)),
        own_(how.context, how.encoding) {}

  Result<Checkpoint> run(const MergeInto& merge) {
    floats_ = coded_;
    Sources known;
    for (Tensor& tensor : floats_.tensors) {
      if (is_code(tensor)) tensor = own_.as_floats(tensor);
      known.merge(direct_sources(tensor));
    }
    CKPT_TRY(merge(floats_));
    CKPT_TRY(choose(known));
    made_ = floats_;
    for (size_t i = 0; i < coded_.tensors.size(); ++i) {
      if (!is_code(coded_.tensors[i])) continue;
      made_.tensors[i] = coded_.tensors[i];
      if (chosen_.contains(i)) CKPT_TRY(encode(i));
    }
    CKPT_TRY(add_head());
    set_peers();
    own_.note(made_.metadata);
    return std::move(made_);
  }

 private:
  // Chooses the tensors that changed, and those that share a tensor scale with them.
  Status choose(const Sources& known) {
    std::map<std::string, std::vector<size_t>> groups;
    CKPT_ASSIGN(const std::string type, model_type());
    for (size_t i = 0; i < coded_.tensors.size(); ++i) {
      const Tensor& tensor = coded_.tensors[i];
      if (!is_code(tensor)) continue;
      const SharedGroup group = find_group(module_of(tensor.name), type);
      const bool shares = group.is_fused && tensor.codec->scheme == Scheme::kNvfp4;
      groups[shares ? group.key : tensor.name].push_back(i);
    }
    for (const auto& [key, members] : groups) {
      const bool is_changed = std::ranges::any_of(members, [&](size_t i) {
        return std::ranges::any_of(direct_sources(floats_.tensors[i]),
                                   [&](const auto* each) { return !known.contains(each); });
      });
      if (!is_changed) continue;
      chosen_.insert(members.begin(), members.end());
      if (members.size() > 1) joined_.push_back(members);
    }
    return {};
  }

  Result<std::string> model_type() const {
    const Document* config = coded_.find_document("config.json");
    if (config == nullptr) return std::string();
    CKPT_ASSIGN(const auto values, config->values());
    const std::string* type = text_of(*values, "model_type");
    return type == nullptr ? std::string() : *type;
  }

  Status encode(size_t i) {
    const Tensor& like = coded_.tensors[i];
    const std::string scale = module_of(like.name) + ".pre_quant_scale";
    if (coded_names_.find(scale)) {
      return unsupported_hint(
          "--step dequantize before it, and --to for the type of the output",
          "tensor '{}' is {} of columns that '{}' scales; adapters are added to others", like.name,
          like.codec->name, scale);
    }
    CKPT_ASSIGN(made_.tensors[i], own_.encoded(like, floats_.tensors[i]));
    return {};
  }

  // Tensors that the merge added: a head that was the embeddings.
  Status add_head() {
    for (size_t i = coded_.tensors.size(); i < made_.tensors.size(); ++i) {
      const auto from = coded_names_.find(made_.tensors[i].source_name);
      if (!from || !is_code(coded_.tensors[*from])) continue;
      Tensor like = coded_.tensors[*from];
      like.name = made_.tensors[i].name;
      CKPT_ASSIGN(made_.tensors[i], own_.encoded(like, made_.tensors[i]));
    }
    return {};
  }

  void set_peers() {
    for (const std::vector<size_t>& members : joined_) {
      std::vector<Tensor*> sharing;
      for (const size_t i : members) sharing.push_back(&made_.tensors[i]);
      share_statistics(sharing);
    }
  }

  const Checkpoint coded_;
  const NameIndex coded_names_;
  Checkpoint floats_, made_;  // the same tensors, and those that were added
  OwnCodecs own_;
  std::set<size_t> chosen_;
  std::vector<std::vector<size_t>> joined_;
};

}  // namespace

bool holds_codes(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, is_code);
}

Result<Checkpoint> merge_into_codes(Checkpoint checkpoint, const MergeInto& merge,
                                    const QuantizedMerge& how) {
  return MergeIntoCodes(std::move(checkpoint), how).run(merge);
}

}  // namespace ckpt
