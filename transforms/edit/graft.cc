// graft: adds tensors of another checkpoint, or replaces tensors by them.
//
//   graft:from=base/,tensors=mtp.*                  new tensors, in a weight file of their own
// graft:from=base/,tensors=lm_head.*,replace=yes  in place of tensors with the same names
//
// A replaced tensor stays in its file; a float tensor also replaces the scales of a quantized
// weight. If there is a quantization configuration, it declares new float weights as not quantized,
// because servers would look for their scales otherwise.

#include <set>
#include <unordered_map>

#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/keep_rules.h"
#include "transforms/facts/quant_config.h"
#include "transforms/packed/packed.h"
#include "transforms/packed/packed_weights.h"

namespace ckpt {
namespace {

// Names of scales that a float weight does not have.
constexpr std::string_view kSideScales[] = {".input_scale", ".input_global_scale",
                                            ".pre_quant_scale"};
constexpr OptionRule kGraftOptions[] = {
    option::path("from", "DIR", "the checkpoint to take them from").required(),
    option::glob("tensors", "the tensors to take").repeated().required(),
    option::yes_no("replace", "take them although the names are there already"),
};

// Returns the name of a weight file that does not exist yet.
std::string new_file(const Checkpoint& checkpoint) {
  std::set<std::string_view> taken;
  for (const Tensor& tensor : checkpoint.tensors) taken.insert(tensor.home);
  std::string name = "model-grafted.safetensors";
  for (int i = 2; taken.count(name) != 0; ++i)
    name = fmt::format("model-grafted-{}.safetensors", i);
  return name;
}

Status declare(Checkpoint& checkpoint, std::vector<std::string> new_modules) {
  UnquantizedModules modules = modules_by_storage(checkpoint);
  modules.added = std::move(new_modules);
  return declare_unquantized(checkpoint, modules);
}

// Indexes tensors by name; the codes of packed weights also by the name of the weight.
std::unordered_map<std::string, size_t> index_of(const Checkpoint& checkpoint,
                                                 const PackedForms& packed) {
  std::unordered_map<std::string, size_t> out;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) out[checkpoint.tensors[i].name] = i;
  for (const auto& [codes, form] : packed.by_codes) out.emplace(form.weight, out.at(codes));
  return out;
}

Failure refuse_same_name(const Tensor& ours, const Tensor& theirs) {
  const std::string shapes =
      ours.name != theirs.name ? fmt::format("the packed weight '{}'", theirs.name)
      : ours.shape == theirs.shape
          ? fmt::format("in both, of shape [{}]", fmt::join(ours.shape, ", "))
          : fmt::format("of shape [{}] here and [{}] there", fmt::join(ours.shape, ", "),
                        fmt::join(theirs.shape, ", "));
  return misuse_hint("replace=yes, if its place is to be taken", "tensor '{}' is {}", ours.name,
                     shapes);
}

Result<Checkpoint> graft(Checkpoint checkpoint, const OptionValues& options,
                         const Context& context) {
  const std::string where = options.text("from");
  CKPT_ASSIGN(Checkpoint other, context.open(where));
  if (other.format != checkpoint.format) {
    return misuse("{}: {}; expected {}, as the checkpoint it goes into", where, other.format,
                  checkpoint.format);
  }
  KeepRules taken(options.all("tensors"));
  std::erase_if(other.tensors,
                [&](const Tensor& tensor) { return !taken.matches({tensor.name}, true); });
  if (const std::string* glob = taken.first_unmatched()) {
    return misuse("{}: no tensor is called '{}'", where, *glob);
  }
  const PackedForms packed = packed_forms(checkpoint);
  const std::unordered_map<std::string, size_t> index = index_of(checkpoint, packed);
  std::string home = new_file(checkpoint);
  if (checkpoint.format == "gguf") {
    home = checkpoint.tensors.empty() ? std::string() : checkpoint.tensors.back().home;
  }
  std::vector<std::string> modules;
  std::set<std::string> replaced_parts;
  for (Tensor& tensor : other.tensors) {
    const bool is_float_weight = !tensor.has_scales() && !may_be_codes(tensor);
    if (is_float_weight && is_matrix_of_module(tensor)) modules.push_back(module_of(tensor.name));
    const auto found = index.find(tensor.name);
    tensor.home = home;
    if (found == index.end()) {
      checkpoint.tensors.push_back(std::move(tensor));
      continue;
    }
    Tensor& ours = checkpoint.tensors[found->second];
    if (!options.yes("replace")) return refuse_same_name(ours, tensor);
    const auto form = packed.by_codes.find(ours.name);
    const bool is_packed = form != packed.by_codes.end();
    if (is_float_weight && (is_packed || ours.has_scales())) {
      if (is_packed) replaced_parts.insert(form->second.parts.begin(), form->second.parts.end());
      replaced_parts.erase(tensor.name);
      for (const std::string_view end : kSideScales) {
        replaced_parts.insert(module_of(tensor.name).append(end));
      }
    }
    tensor.home = ours.home;
    ours = std::move(tensor);
  }
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return replaced_parts.contains(tensor.name); });
  CKPT_TRY(declare(checkpoint, std::move(modules)));
  const std::string fault = packed_forms(checkpoint).fault;
  if (packed.fault.empty() && !fault.empty()) {
    return misuse("the result would not be readable: {}", fault);
  }
  return checkpoint;
}

}  // namespace

extern constinit const Transform kGraft{"graft", "takes tensors of another checkpoint",
                                        kGraftOptions, graft, ChangeScope::kValues};

}  // namespace ckpt
