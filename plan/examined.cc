#include "plan/examined.h"

#include <memory>

#include "core/io/files_read.h"
#include "formats/formats.h"
#include "plan/conversion/steps.h"
#include "plan/text/type_names.h"

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
  Examination examination =
      examination_for(step_context(nullptr, options.reading), options.profiles);
  examination.deep = options.deep;
  examination.base = options.base;
  examination.progress = progress.get();
  examination.interrupted = observer.cancelled();
  CKPT_ASSIGN(ExaminedFolder out, examine(path, examination, options.reading));
  if (!was_fixed) CKPT_TRY(check_files_read());
  return out;
}

}  // namespace ckpt
