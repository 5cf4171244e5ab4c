#include "plan/size_target/sensitivity_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/words.h"
#include "plan/conversion/evaluation.h"

namespace ckpt {
namespace {

// Divergences below the first limit count as 0; above the second, the number is something else. The
// limits keep ratios finite.
constexpr double kLeastDivergence = 1e-12, kMostDivergence = 1e4;
constexpr std::string_view kTypedFigures[] = {"kl of ", "value of "};

// The type in a column's name: "q6_k" for "q6_K". "iq1_m_r4" holds values of iq1_m, reordered.
std::string type_of_figure(std::string_view figure) {
  for (const std::string_view start : kTypedFigures) {
    if (figure.starts_with(start)) figure.remove_prefix(start.size());
  }
  std::string out = lower_case(figure);
  if (out.ends_with("_r4") || out.ends_with("_r8")) out.resize(out.size() - 3);
  return out == "kl" || out == "value" ? "" : out;
}

bool is_divergence(std::string_view figure) {
  return figure == "kl" || figure == "value" ||
         std::ranges::any_of(kTypedFigures,
                             [&](std::string_view start) { return figure.starts_with(start); });
}

// The file's numbers for a tensor, and whether they are those of its stack; null if it has none.
struct TensorDivergences {
  const std::map<std::string, double>* divergences = nullptr;
  const std::string* name = nullptr;
  bool is_stack = false;
};

TensorDivergences find_in_file(const SensitivityFile& file, const RatedTensor& tensor) {
  for (const std::string& name : tensor.names) {
    const auto found = file.divergences.find(name);
    if (found != file.divergences.end()) return {&found->second, &found->first, false};
  }
  const auto found = file.divergences.find(tensor.stack_name);
  if (tensor.stack_name.empty() || found == file.divergences.end()) return {};
  return {&found->second, &found->first, true};
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

using Ratios = std::map<size_t, double>;  // keys are indices of tensors

// Divides the divergences that `type` causes by the type's errors, if all errors are known.
Ratios ratios_of_type(Ratios divergences, const std::vector<RatedTensor>& tensors,
                      const std::string& type) {
  const bool have_errors = std::ranges::all_of(divergences, [&](const auto& each) {
    const auto error = tensors[each.first].errors.find(type);
    return error != tensors[each.first].errors.end() && error->second > 0;
  });
  for (auto& [i, ratio] : divergences) {
    if (have_errors) ratio /= tensors[i].errors.at(type);
  }
  return divergences;
}

Result<SensitivityFile> read_sensitivity_file(const std::filesystem::path& path) {
  SensitivityFile out{path.string(), {}};
  CKPT_ASSIGN(const Json evaluation, read_evaluation(path));
  bool has_perplexities = false;
  for (const Json& row : evaluation.at("rows")) {
    const auto [place, is_new] = out.divergences.try_emplace(row.at("name").get<std::string>());
    if (!is_new) {
      return corrupt("{}: '{}' is there twice", out.name, place->first);
    }
    for (const auto& [figure, value] : row.items()) {
      has_perplexities |= figure.starts_with("perplexity");
      if (!is_divergence(figure) || !value.is_number()) continue;
      const double divergence = value.get<double>();
      if (divergence > kMostDivergence) {
        return corrupt("{}: '{}' has {}; expected a KL divergence, at most {}", out.name,
                       place->first, divergence, kMostDivergence);
      }
      if (divergence >= kLeastDivergence) place->second[type_of_figure(figure)] = divergence;
    }
  }
  std::erase_if(out.divergences, [](const auto& each) { return each.second.empty(); });
  if (!out.divergences.empty()) return out;
  return misuse_hint("a kld_results.csv, or lines of name,kl",
                     "{}: {}; expected the KL divergence that each tensor alone causes", out.name,
                     has_perplexities ? "perplexities" : "no number above 0");
}

Status check_sensitivity_file(const SensitivityFile& file, const std::vector<RatedTensor>& tensors,
                              Observer& observer) {
  std::set<std::string> used;
  const RatedTensor* missing = nullptr;
  size_t count = 0;
  for (const RatedTensor& tensor : tensors) {
    const TensorDivergences found = find_in_file(file, tensor);
    if (found.name != nullptr) {
      used.insert(*found.name);
    } else if (count++ == 0) {
      missing = &tensor;
    }
  }
  const auto unknown = std::ranges::find_if(
      file.divergences, [&](const auto& each) { return !used.contains(each.first); });
  if (used.empty()) {
    return misuse_hint(
        "a file of this model, with a column a tensor",
        "{}: none of its {} tensors (the first: '{}') is one whose type is chosen here; "
        "expected names like '{}'",
        file.name, file.divergences.size(), unknown->first, missing->names[0]);
  }
  if (unknown != file.divergences.end()) {
    observer.note(fmt::format("{}: no types are chosen for {} of its {} tensors (the first: '{}')",
                              file.name, file.divergences.size() - used.size(),
                              file.divergences.size(), unknown->first));
  }
  if (count > 0) {
    observer.note(
        fmt::format("{}: has no entry for {} of {} tensors (the first: '{}'); they keep "
                    "the factors of their roles",
                    file.name, count, tensors.size(), missing->names[0]));
  }
  return {};
}

}  // namespace

Result<SensitivityFile> fitting_sensitivities(const std::filesystem::path& path,
                                              const std::vector<RatedTensor>& tensors,
                                              Observer& observer) {
  if (path.empty()) return SensitivityFile();
  CKPT_ASSIGN(SensitivityFile file, read_sensitivity_file(path));
  CKPT_TRY(check_sensitivity_file(file, tensors, observer));
  return file;
}

void rate_tensors(const SensitivityFile& file, std::vector<RatedTensor>& tensors) {
  std::vector<TensorDivergences> found;
  std::map<std::string, Ratios> of_types;  // divergences by type
  for (size_t i = 0; i < tensors.size(); ++i) {
    found.push_back(find_in_file(file, tensors[i]));
    if (found[i].divergences == nullptr) continue;
    for (const auto& [type, divergence] : *found[i].divergences) of_types[type][i] = divergence;
  }
  std::map<size_t, std::vector<double>> parts;
  for (const auto& [type, divergences] : of_types) {
    const Ratios ratios = ratios_of_type(divergences, tensors, type);
    std::vector<double> all;
    for (const auto& each : ratios) all.push_back(each.second);
    const double median = median_of(std::move(all));
    for (const auto& [i, ratio] : ratios) parts[i].push_back(ratio / median);
  }
  std::vector<double> over_roles;
  for (auto& [i, values] : parts) {
    double sum = 0;
    for (const double value : values) sum += value;
    values = {sum / static_cast<double>(values.size())};
    over_roles.push_back(values[0] / tensors[i].factor);
  }
  if (over_roles.empty()) return;
  const double level = median_of(std::move(over_roles));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool is_rated = parts.contains(i);
    tensors[i].factor = is_rated ? parts[i][0] : tensors[i].factor * level;
    if (!is_rated || found[i].is_stack) tensors[i].factor *= tensors[i].share;
  }
}

}  // namespace ckpt
