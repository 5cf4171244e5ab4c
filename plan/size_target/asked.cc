// Parses --target-size and --target-bits, and rejects options that set types themselves.
#include "core/base/numbers.h"
#include "formats/formats.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/sizes.h"
#include "plan/conversion/targets.h"
#include "plan/size_target/folder_target.h"
#include "plan/size_target/size_target.h"

namespace ckpt {
namespace {

constexpr double kMostBits = 32;

// Rejects options that set types themselves, because they leave a target no choice.
Status check_alone(const Conversion& conversion, const std::string& target) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    return misuse_hint("one of them", "{} and {}: {}", target, option, why);
  };
  const bool is_folder = !is_gguf_path(conversion.out);
  const bool has_folder_type = is_export_type(conversion.to) && conversion.to != "fp8";
  if (!conversion.to.empty() && !(is_folder && has_folder_type)) {
    return refuse(fmt::format("--to {}", conversion.to),
                  is_folder ? "layers of a folder become nvfp4 (or nvfp4-w4a16), fp8 or stay"
                            : "a target chooses the types itself");
  }
  if (conversion.flags.has("pure")) return refuse("--pure", "one type leaves nothing to choose");
  if (!conversion.also.empty()) {
    return refuse("--also",
                  "the types are chosen for one file; make the other by a second command");
  }
  if (conversion.mmproj_only) return refuse("--mmproj-only", "a projector is not quantized so far");
  return {};
}

Result<double> parse_bits(const std::string& text) {
  const auto bits = number_from<double>(text);
  if (bits && *bits > 0 && *bits <= kMostBits) return *bits;
  return misuse("--target-bits '{}'; expected bits a weight, like 4.6", text);
}

// Accepts "24 GB" with a space, as people write it.
Result<uint64_t> parse_target_size(std::string text) {
  const size_t space = text.find(' ');
  const bool is_between = space != text.npos && space > 0 && space + 1 < text.size() &&
                          text[space - 1] >= '0' && text[space - 1] <= '9' &&
                          !(text[space + 1] >= '0' && text[space + 1] <= '9');
  if (is_between) text.erase(space, 1);
  CKPT_ASSIGN(const uint64_t bytes, in("--target-size", parse_size(text)));
  if (bytes > 0) return bytes;
  return misuse("--target-size {}: no file; expected a size, like 24GB", text);
}

}  // namespace

Result<std::optional<SizeTarget>> read_size_target(const Conversion& conversion) {
  const bool has_size = !conversion.target_size.empty(), has_bits = !conversion.target_bits.empty();
  if (!has_size && !has_bits) return std::optional<SizeTarget>();
  if (has_size && has_bits) {
    return misuse_hint("one of them", "--target-size {} and --target-bits {}",
                       conversion.target_size, conversion.target_bits);
  }
  SizeTarget out;
  if (has_size) {
    out.text = fmt::format("--target-size {}", conversion.target_size);
    CKPT_ASSIGN(out.size_bytes, parse_target_size(conversion.target_size));
  } else {
    out.text = fmt::format("--target-bits {}", conversion.target_bits);
    CKPT_ASSIGN(out.bits, parse_bits(conversion.target_bits));
  }
  CKPT_TRY(check_alone(conversion, out.text));
  return std::optional(std::move(out));
}

Result<ChosenTarget> resolve_target(Conversion& conversion, bool is_written, Observer& observer,
                                    unsigned threads) {
  if (conversion.target_size.empty() && conversion.target_bits.empty()) return ChosenTarget();
  CKPT_TRY(recognize(conversion.in));  // errors of IN come first
  CKPT_ASSIGN(auto target, read_size_target(conversion));
  CKPT_TRY(refuse_stdout(conversion.target_cache));
  CKPT_TRY(check_own_name("target-cache", conversion.target_cache, conversion));
  if (is_written && !conversion.force) CKPT_TRY(check_new_out(conversion.out));
  const auto choose = is_gguf_path(conversion.out) ? with_chosen_types : with_chosen_layers;
  CKPT_ASSIGN(auto settled, choose(conversion, *target, observer, threads));
  conversion = std::move(settled.first);
  std::erase_if(conversion.given, [](const auto& each) {
    return each.name == "sensitivity" || each.name == "target-cache";
  });
  return ChosenTarget({std::move(*target), std::move(settled.second)});
}

}  // namespace ckpt
