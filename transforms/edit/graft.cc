// graft: takes tensors of another checkpoint.
//
//   graft:from=base/,tensors=mtp.*                  new tensors, in a weight file of their own
//   graft:from=base/,tensors=lm_head.*,replace=yes  instead of those that have the names
//
// A replaced tensor stays in its file. New weights that are not quantized are declared so in the
// quantization configuration, where there is one: servers would look for their scales.

#include <set>
#include <unordered_map>

#include "core/base/glob.h"
#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "transforms/facts/quant_config.h"

namespace ckpt {
namespace {

constexpr OptionRule kGraftOptions[] = {
    option::path("from", "DIR", "the checkpoint to take them from").required(),
    option::glob("tensors", "the tensors to take").repeated().required(),
    option::yes_no("replace", "take them although the names are there already"),
};

// A weight file that nobody has.
std::string new_file(const Checkpoint& checkpoint) {
  std::set<std::string_view> taken;
  for (const Tensor& tensor : checkpoint.tensors) taken.insert(tensor.home);
  std::string name = "model-grafted.safetensors";
  for (int i = 2; taken.count(name) != 0; ++i)
    name = fmt::format("model-grafted-{}.safetensors", i);
  return name;
}

// Modules with a matrix, as a quantizer would take them.
bool is_module(const Tensor& tensor) {
  return tensor.name.ends_with(kWeight) && tensor.shape.size() >= 2;
}

Status declare(Checkpoint& checkpoint, const std::vector<std::string>& new_modules) {
  std::vector<std::string> quantized;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (tensor.has_scales() && is_module(tensor)) quantized.push_back(module_of(tensor.name));
  }
  return declare_unquantized(checkpoint, new_modules, quantized);
}

// The tensors of `from` that fit a glob; every glob must fit one.
Result<std::vector<Tensor>> select(std::vector<Tensor> from, const std::vector<std::string>& globs,
                                   const std::string& where) {
  const GlobList list(globs);
  std::vector<bool> is_used(globs.size());
  std::erase_if(from, [&](const Tensor& tensor) {
    const std::vector<uint32_t> fitting = list.matching(tensor.name);
    for (const uint32_t number : fitting) is_used[number] = true;
    return fitting.empty();
  });
  for (size_t i = 0; i < globs.size(); ++i) {
    if (!is_used[i])
      return fail(ErrorCode::kUsage, "{}: no tensor is called '{}'", where, globs[i]);
  }
  return from;
}

Failure refuse_same_name(const Tensor& ours, const Tensor& theirs) {
  const std::string shapes =
      ours.shape == theirs.shape
          ? fmt::format("in both, of shape [{}]", fmt::join(ours.shape, ", "))
          : fmt::format("of shape [{}] here and [{}] there", fmt::join(ours.shape, ", "),
                        fmt::join(theirs.shape, ", "));
  return fail_with_hint(ErrorCode::kUsage, "replace=yes, if its place is to be taken",
                        "tensor '{}' is {}", ours.name, shapes);
}

Result<Checkpoint> graft(Checkpoint checkpoint, const OptionValues& options,
                         const Context& context) {
  const std::string where = options.text("from");
  const std::vector<std::string> globs = options.all("tensors");
  CKPT_ASSIGN(Checkpoint other, context.open(where));
  if (other.format != checkpoint.format) {
    return fail(ErrorCode::kUsage, "{}: {}; expected {}, as the checkpoint it goes into", where,
                other.format, checkpoint.format);
  }
  CKPT_ASSIGN(std::vector<Tensor> taken, select(std::move(other.tensors), globs, where));
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < checkpoint.tensors.size(); ++i) index[checkpoint.tensors[i].name] = i;
  std::string home = new_file(checkpoint);
  if (checkpoint.format == "gguf") {
    home = checkpoint.tensors.empty() ? std::string() : checkpoint.tensors.back().home;
  }
  std::vector<std::string> modules;
  for (Tensor& tensor : taken) {
    if (!tensor.has_scales() && is_module(tensor)) modules.push_back(module_of(tensor.name));
    const auto found = index.find(tensor.name);
    tensor.home = home;
    if (found == index.end()) {
      checkpoint.tensors.push_back(std::move(tensor));
      continue;
    }
    Tensor& ours = checkpoint.tensors[found->second];
    if (!options.yes("replace")) return refuse_same_name(ours, tensor);
    tensor.home = ours.home;
    ours = std::move(tensor);
  }
  CKPT_TRY(declare(checkpoint, modules));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kGraft{"graft", "takes tensors of another checkpoint",
                                        kGraftOptions, graft, Touches::kValues};

}  // namespace ckpt
