#include "tools/doctor/doctor_statistics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/formats.h"
#include "plan/conversion/imatrix_fit.h"
#include "quantizers/quantizers.h"

namespace ckpt {
namespace {

constexpr size_t kWrongShown = 12;

void say_fit(const std::string& file, const ImatrixFit& fit, bool is_good, bool is_legacy,
             const Console& console) {
  if (is_good) {
    console.answer(fmt::format("{}: fits: statistics of {} weight{}", file, fit.entries.size(),
                               fit.entries.size() == 1 ? "" : "s"));
  } else if (fit.wrong.empty()) {
    console.answer(fmt::format("{}: is of another model: it names none of its weights", file));
  } else {
    console.answer(fmt::format("{}: does not fit: {} of another size", file, fit.wrong.size()));
  }
  for (size_t i = 0; i < std::min(fit.wrong.size(), kWrongShown); ++i) {
    console.answer("  " + fit.wrong[i]);
  }
  if (fit.wrong.size() > kWrongShown) {
    console.answer(fmt::format("  and {} more", fit.wrong.size() - kWrongShown));
  }
  if (!fit.unknown.empty()) {
    console.answer("  not in the model: " + first_names(fit.unknown));
  }
  if (!fit.missing.empty()) {
    console.answer(fmt::format(
        "  {} without statistics: {}",
        fit.missing.size() == 1 ? "one weight of its layers is"
                                : fmt::format("{} weights of its layers are", fit.missing.size()),
        first_names(fit.missing)));
  }
  if (fit.unseen > 0) {
    console.answer(
        fmt::format("  {} of {} experts saw no input; they are quantized with equal weights "
                    "(ckpt imatrix show names them, ckpt imatrix fill fills them)",
                    fit.unseen, fit.experts));
  }
  if (is_legacy) console.answer("  what each expert saw is not in a legacy file");
}

}  // namespace

Result<bool> show_statistics(const std::filesystem::path& checkpoint, const ImatrixSums& sums,
                             const Console& console) {
  CKPT_ASSIGN(const Format* format, recognize(checkpoint));
  CKPT_ASSIGN(const Checkpoint model, format->read(checkpoint, all_codecs()));
  CKPT_ASSIGN(const ImatrixFit fit, in(checkpoint.string(), fit_imatrix(model, sums)));
  const bool is_good = fit.wrong.empty() && !fit.entries.empty();
  say_fit(sums.file, fit, is_good, sums.is_legacy, console);
  console.object("statistics", {{"file", sums.file},
                                {"fits", is_good},
                                {"tensors", fit.entries.size()},
                                {"wrong", fit.wrong},
                                {"unknown", fit.unknown},
                                {"missing", fit.missing},
                                {"experts", fit.experts},
                                {"unseen", fit.unseen}});
  return is_good;
}

}  // namespace ckpt
