// drop: leaves tensors out.
//
// A glob sees whole names of tensors: of a quantized weight "….weight", whose scales go with it.

#include "core/model/transform.h"
#include "transforms/facts/keep_rules.h"

namespace ckpt {
namespace {

constexpr OptionRule kDropOptions[] = {
    option::glob("tensors", "the tensors to leave out").repeated().required()};

Result<Checkpoint> drop(Checkpoint checkpoint, const OptionValues& options, const Context&) {
  KeepRules dropped(options.all("tensors"));
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return dropped.matches({tensor.name}, true); });
  if (const std::string* glob = dropped.first_unmatched()) {
    return misuse("no tensor is called '{}'", *glob);
  }
  if (checkpoint.tensors.empty()) return misuse("no tensor would be left");
  return checkpoint;
}

}  // namespace

extern constinit const Transform kDrop{"drop", "leaves tensors out", kDropOptions, drop,
                                       Touches::kNames};

}  // namespace ckpt
