#include "core/model/transform.h"

#include "core/base/glob.h"

namespace ckpt {

Result<Checkpoint> Transform::apply(Checkpoint checkpoint, const Options& given,
                                    const Context& context) const {
  CKPT_ASSIGN(const OptionValues values, OptionValues::read(options, given, name));
  return run(std::move(checkpoint), values, context);
}

bool glob_matches(std::string_view pattern, std::string_view name) {
  return Glob(pattern).matches(name);
}

Status expect_safetensors(const Checkpoint& checkpoint, std::string_view step) {
  if (checkpoint.format == "safetensors") return {};
  return misuse("{}: the checkpoint is {}; expected safetensors", step, checkpoint.format);
}

}  // namespace ckpt
