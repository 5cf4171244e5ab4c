// Shows the types that a size target chose, summed by role, as text and as JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/size_target/choice.h"
#include "tools/say/preview.h"

namespace ckpt {
namespace {

double rounded(double value, double steps) { return std::round(value * steps) / steps; }

// The tensors of one role that have one type.
struct RoleSum {
  std::string role, type;
  uint64_t tensors = 0, weights = 0, size_bytes = 0;
  double error = 0;  // summed over weights

  double decibels() const { return sqnr_db(error / static_cast<double>(weights)); }
};

// Sums by role and type, in the order of the file, which begins with tensors outside of layers; the
// types of one role are adjacent.
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
  // emplace_back avoids the linear search of types[name].
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

std::string describe_prediction(const ChosenTypes& chosen) {
  if (chosen.is_mixture) {
    return fmt::format("taken: {} ({}) as it is; a choice of types promises {:.1f} % less error",
                       chosen.mixture, human_bytes(chosen.mixture_bytes),
                       100 * std::max(0.0, 1 - chosen.against.value_or(1)));
  }
  if (!chosen.against) return {};
  if (chosen.effective_bits) {
    return fmt::format("predicted error: {:.2f} of {}'s for all layers ({})", *chosen.against,
                       chosen.mixture, human_bytes(chosen.mixture_bytes));
  }
  return fmt::format("predicted error: {:.2f} of {}'s ({}), the largest mixture that fits",
                     *chosen.against, chosen.mixture, human_bytes(chosen.mixture_bytes));
}

}  // namespace

void show_chosen_types(const Console& console, const SizeTarget& target,
                       const ChosenTypes& chosen) {
  const std::vector<RoleSum> sums = sums_of(chosen);
  uint64_t weights = 0, bytes = 0;
  for (const RoleSum& sum : sums) {
    weights += sum.weights;
    bytes += sum.size_bytes;
  }
  Table table({"role", "type", "tensors", "size", "SQNR dB"});
  for (const RoleSum& sum : sums) {
    const std::string decibels =
        sum.error == 0 ? std::string("exact") : fmt::format("{:.1f}", sum.decibels());
    table.add({sum.role, sum.type, fmt::format("{}", sum.tensors), human_bytes(sum.size_bytes),
               decibels});
  }
  const double bits = bits_per_weight(bytes, weights);
  const std::string counted =
      chosen.effective_bits ? fmt::format("{:.3f} effective bits, ", *chosen.effective_bits) : "";
  console.talk("{}: {}, {}{:.3f} bits a weight in {} tensors", target.text,
               human_bytes(chosen.out_bytes), counted, bits, chosen.tensors.size());
  for (const std::string& line : table.lines({false, false, true, true, true})) {
    console.talk(line);
  }
  if (const std::string text = describe_prediction(chosen); !text.empty()) console.talk(text);
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
