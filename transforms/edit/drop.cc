// drop: leaves tensors out.
//
// A glob sees whole names of tensors: of a quantized weight "….weight", whose scales go with it.

#include "core/base/glob.h"
#include "core/model/transform.h"

namespace ckpt {
namespace {

constexpr OptionRule kDropOptions[] = {
    option::glob("tensors", "the tensors to leave out").repeated().required()};

Result<Checkpoint> drop(Checkpoint checkpoint, const OptionValues& options, const Context&) {
  const std::vector<std::string> globs = options.all("tensors");
  const GlobList list(globs);
  std::vector<bool> is_used(globs.size());
  std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) {
    const std::vector<uint32_t> fitting = list.matching(tensor.name);
    for (const uint32_t number : fitting) is_used[number] = true;
    return !fitting.empty();
  });
  for (size_t i = 0; i < globs.size(); ++i) {
    if (!is_used[i]) return misuse("no tensor is called '{}'", globs[i]);
  }
  if (checkpoint.tensors.empty()) return misuse("no tensor would be left");
  return checkpoint;
}

}  // namespace

extern constinit const Transform kDrop{"drop", "leaves tensors out", kDropOptions, drop,
                                       Touches::kNames};

}  // namespace ckpt
