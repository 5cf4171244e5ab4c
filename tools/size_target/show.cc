#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/added_steps.h"
#include "tools/size_target/choice.h"
#include "tools/size_target/size_target.h"

namespace ckpt {
namespace {

constexpr double kMostBits = 32;

// What says types beside a target: each would take the choice away.
Status check_alone(const Conversion& conversion, const std::string& target) {
  const auto refuse = [&](std::string_view option, std::string_view why) {
    return fail_with_hint(ErrorCode::kUsage, "one of them", "{} and {}: {}", target, option, why);
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
  double bits = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bits);
  if (error == std::errc() && rest == end && bits > 0 && bits <= kMostBits) return bits;
  return fail(ErrorCode::kUsage, "--target-bits '{}'; expected bits a weight, like 4.6", text);
}

// "24 GB" is what people write.
Result<uint64_t> parse_target_size(std::string text) {
  const size_t space = text.find(' ');
  const bool is_between = space != text.npos && space > 0 && space + 1 < text.size() &&
                          text[space - 1] >= '0' && text[space - 1] <= '9' &&
                          !(text[space + 1] >= '0' && text[space + 1] <= '9');
  if (is_between) text.erase(space, 1);
  CKPT_ASSIGN(const uint64_t bytes, in("--target-size", parse_size(text)));
  if (bytes > 0) return bytes;
  return fail(ErrorCode::kUsage, "--target-size {}: no file; expected a size, like 24GB", text);
}

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

// The tensors of one role that have one type.
struct RoleSum {
  std::string role, type;
  uint64_t tensors = 0, weights = 0, size_bytes = 0;
  double error = 0;  // summed over weights

  double decibels() const { return sqnr_db(error / static_cast<double>(weights)); }
};

// Roles in the order of the file, which begins with what lies outside of layers; the types of one
// beside each other.
std::vector<RoleSum> sums_of(const ChosenTypes& chosen) {
  std::vector<RoleSum> out;
  for (const ChosenTensor& tensor : chosen.tensors) {
    auto place = std::ranges::find_if(out, [&](const RoleSum& sum) {
      return sum.role == tensor.role && sum.type == tensor.type;
    });
    if (place == out.end()) {
      const auto last = std::find_if(out.rbegin(), out.rend(),
                                     [&](const RoleSum& sum) { return sum.role == tensor.role; });
      place = out.insert(last == out.rend() ? out.end() : last.base(), {tensor.role, tensor.type});
    }
    ++place->tensors;
    place->weights += tensor.weights;
    place->size_bytes += tensor.size_bytes;
    place->error += tensor.error * static_cast<double>(tensor.weights);
  }
  return out;
}

void show_json(const Console& console, const ChosenTypes& chosen, double bits,
               const std::vector<RoleSum>& sums) {
  Json roles = Json::array(), types = Json::object();
  for (const RoleSum& sum : sums) {
    roles.push_back({{"role", sum.role},
                     {"type", sum.type},
                     {"tensors", sum.tensors},
                     {"size_bytes", sum.size_bytes},
                     {"sqnr_db", rounded(sum.decibels(), 100)}});
  }
  // Not types[name], which looks through all that are there.
  auto& rows = types.get_ref<Json::object_t&>();
  for (const ChosenTensor& tensor : chosen.tensors) rows.emplace_back(tensor.name, tensor.type);
  Json out = {
      {"size_bytes", chosen.out_bytes},
      {"bits_per_weight", rounded(bits, 1000)},
      {"mixture", chosen.mixture.empty() ? Json() : Json(chosen.mixture)},
      {"mixture_bytes", chosen.mixture.empty() ? Json() : Json(chosen.mixture_bytes)},
      {"error_against_mixture", chosen.against ? Json(rounded(*chosen.against, 1000)) : Json()},
      {"is_mixture", chosen.is_mixture},
      {"keeps_floors", chosen.keeps_floors},
      {"roles", roles}};
  if (chosen.effective_bits) {
    out["effective_bits"] = rounded(*chosen.effective_bits, 1000);
    for (const char* name : {"fp8", "keep"}) out[name] = chosen.globs.all(name);
    out["types"] = types;
  } else {
    out["tensor-type"] = types;
  }
  console.object("chosen_types", std::move(out));
}

std::string outlook(const ChosenTypes& chosen) {
  if (chosen.is_mixture) {
    return fmt::format(
        "taken: {} ({} bytes) as it is; a choice of types promises {:.1f} % less error",
        chosen.mixture, chosen.mixture_bytes, 100 * std::max(0.0, 1 - chosen.against.value_or(1)));
  }
  if (!chosen.against) return {};
  if (chosen.effective_bits) {
    return fmt::format("predicted error: {:.2f} of {}'s for all layers ({} bytes)", *chosen.against,
                       chosen.mixture, chosen.mixture_bytes);
  }
  return fmt::format("predicted error: {:.2f} of {}'s ({} bytes), the largest mixture that fits",
                     *chosen.against, chosen.mixture, chosen.mixture_bytes);
}

}  // namespace

Result<std::optional<SizeTarget>> read_size_target(const Conversion& conversion) {
  const bool has_size = !conversion.target_size.empty(), has_bits = !conversion.target_bits.empty();
  if (!has_size && !has_bits) return std::optional<SizeTarget>();
  if (has_size && has_bits) {
    return fail_with_hint(ErrorCode::kUsage, "one of them", "--target-size {} and --target-bits {}",
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

void show_chosen_types(const Console& console, const SizeTarget& target,
                       const ChosenTypes& chosen) {
  const std::vector<RoleSum> sums = sums_of(chosen);
  uint64_t weights = 0, bytes = 0;
  for (const RoleSum& sum : sums) {
    weights += sum.weights;
    bytes += sum.size_bytes;
  }
  Table table({"role", "type", "tensors", "bytes", "SQNR dB"});
  for (const RoleSum& sum : sums) {
    const std::string decibels =
        sum.error == 0 ? std::string("exact") : fmt::format("{:.1f}", sum.decibels());
    table.add({sum.role, sum.type, fmt::format("{}", sum.tensors),
               fmt::format("{}", sum.size_bytes), decibels});
  }
  const double bits = 8 * static_cast<double>(bytes) / static_cast<double>(weights);
  const std::string counted =
      chosen.effective_bits ? fmt::format("{:.3f} effective bits, ", *chosen.effective_bits) : "";
  console.talk(fmt::format("{}: {} bytes, {}{:.3f} bits a weight in {} tensors", target.text,
                           chosen.out_bytes, counted, bits, chosen.tensors.size()));
  for (const std::string& line : table.lines({false, false, true, true, true})) {
    console.talk(line);
  }
  if (const std::string text = outlook(chosen); !text.empty()) console.talk(text);
  if (!chosen.keeps_floors) {
    console.warn(
        chosen.effective_bits
            ? fmt::format("{}: so small that layers below the floors had to be used (less than {} "
                          "dB, or 4 bits for very small ones)",
                          target.text, kLeastSqnrDb)
            : fmt::format("{}: so small that types of less than {} dB had to be used; "
                          "expect a model that is clearly worse",
                          target.text, kLeastSqnrDb));
  }
  if (!chosen.note.empty()) console.warn(chosen.note);
  show_json(console, chosen, bits, sums);
}

}  // namespace ckpt
