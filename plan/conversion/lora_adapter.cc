#include "plan/conversion/lora_adapter.h"

#include <algorithm>

#include "core/model/adapter.h"
#include "plan/conversion/added_steps.h"

namespace ckpt {
Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context) {
  const std::string what = adapter_words(checkpoint);
  if (what.empty() || checkpoint.format == "gguf") return {};
  const auto needs_model = [](const std::filesystem::path& out, std::string_view type) {
    return is_gguf_path(out) || is_export_type(type);
  };
  const bool is_refused =
      needs_model(conversion.out, conversion.to) ||
      std::any_of(conversion.also.begin(), conversion.also.end(),
                  [&](const AlsoOutput& also) { return needs_model(also.out, also.to); });
  if (!is_refused) {
    context.note(fmt::format("{} is a {}, not an entire model; it is copied as one",
                             conversion.in.string(), what));
    return {};
  }
  return fail_with_hint(ErrorCode::kUnsupported,
                        fmt::format("{}, to merge it into its base model", kMergedAdapter),
                        "{}: a {}, not an entire model", conversion.in.string(), what);
}

}  // namespace ckpt
