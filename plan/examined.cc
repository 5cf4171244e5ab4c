#include "plan/examined.h"

#include <memory>

#include "core/io/files_read.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "plan/text/type_names.h"
#include "transforms/transforms.h"

namespace ckpt {

Status settle_question(const std::filesystem::path& path, DoctorOptions& options) {
  CKPT_ASSIGN(options.profiles, profiles_named(options.profiles));
  if (options.profiles.empty()) {
    const auto format = recognize(path);
    if (format && (*format)->name == "gguf") options.profiles = {"llama.cpp"};
  }
  return check_base(options.base);
}

Result<ExaminedFolder> examined(const std::filesystem::path& path, const DoctorOptions& options,
                                Observer& observer, bool was_fixed) {
  const std::unique_ptr<Progress> progress = observer.progress("reading");
  const Context context = step_context(nullptr, options.reading);
  const Examination examination{
      options.profiles, options.deep,   options.base,         is_given_step,
      packed_forms,     progress.get(), observer.cancelled(), tokenizer_findings(context),
      unpacker(context)};
  CKPT_ASSIGN(ExaminedFolder out, examine(path, examination, options.reading));
  if (!was_fixed) CKPT_TRY(check_files_read());
  return out;
}

}  // namespace ckpt
