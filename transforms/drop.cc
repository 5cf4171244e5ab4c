// drop: leaves tensors out.
//
// A glob sees whole names of tensors: of a quantized weight "….weight", whose scales go with it.
#include "transforms/drop.h"

#include <algorithm>

namespace ckpt {
namespace {

constexpr OptionRule kOptions[] = {{"tensors", "GLOB", "the tensors to leave out", true}};

Result<Checkpoint> apply(Checkpoint checkpoint, const Options& options, const Context&) {
  const std::vector<std::string> globs = options.all("tensors");
  if (globs.empty()) return fail(ErrorCode::kUsage, "tensors=GLOB is missing");
  for (const std::string& glob : globs) {
    const bool found = std::any_of(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                   [&](const Tensor& t) { return glob_matches(glob, t.name); });
    if (!found) return fail(ErrorCode::kUsage, "no tensor is called '{}'", glob);
  }
  std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) {
    return std::any_of(globs.begin(), globs.end(),
                       [&](const std::string& glob) { return glob_matches(glob, tensor.name); });
  });
  if (checkpoint.tensors.empty()) return fail(ErrorCode::kUsage, "no tensor would be left");
  return checkpoint;
}

}  // namespace

constinit const Transform kDrop{"drop", "leaves tensors out", kOptions, apply, Touches::kNames};

}  // namespace ckpt
