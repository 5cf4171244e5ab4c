#include "plan/conversion/lora_adapter.h"

#include <algorithm>

#include "core/model/adapter.h"
#include "plan/conversion/added_steps.h"

namespace ckpt {
Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context) {
  const std::string what = adapter_words(checkpoint);
  if (what.empty() || checkpoint.format == "gguf") return {};
  const bool has_base = !conversion.base.empty();
  const auto takes = [&](const std::filesystem::path& out, std::string_view type) {
    return is_gguf_path(out) ? has_base && !is_export_type(type) : !is_export_type(type);
  };
  const bool fits = takes(conversion.out, conversion.to) &&
                    std::all_of(conversion.also.begin(), conversion.also.end(),
                                [&](const AlsoOutput& also) { return takes(also.out, also.to); });
  if (!fits) {
    const std::string_view other = has_base ? "" : "; --base BASE, to make a GGUF of it alone";
    return fail_with_hint(
        ErrorCode::kUnsupported,
        fmt::format("{}, to merge it into its base model{}", kMergedAdapter, other),
        "{}: a {}, not a model", conversion.in.string(), what);
  }
  if (!is_gguf_path(conversion.out)) {
    context.note(fmt::format("{} is a {}, not a model; it is copied as one",
                             conversion.in.string(), what));
  }
  return {};
}

}  // namespace ckpt
