#include "tools/doctor/moments_fit.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/model/tensor_names.h"
#include "formats/formats.h"
#include "plan/conversion/imatrix_fit.h"
#include "quantizers/quantizers.h"
#include "transforms/transforms.h"

namespace ckpt {
namespace {

constexpr std::string_view kInputMoments = ".input_moments";
constexpr size_t kMostWrongLines = 12;

struct MomentsFit {
  uint64_t layers = 0;  // with moments of the right size
  std::vector<std::string> wrong, unknown, missing;
};

// A layer's name without what wrappers add, all experts of a layer under one.
std::string moments_key(std::string module) {
  constexpr std::string_view kWrapper = "language_model.";
  const size_t at = module.find(kWrapper);
  if (at != module.npos) module.erase(at, kWrapper.size());
  const auto expert = expert_name(module);
  return expert ? fmt::format("{}*.{}", expert->front, expert->rest) : module;
}

// Layers by key; of a stack of experts those that it is cut into.
std::map<std::string, uint64_t> columns_of_layers(const Checkpoint& model) {
  std::map<std::string, uint64_t> out;
  for (const Tensor& tensor : model.tensors) {
    const std::string key = moments_key(module_of(tensor.name));
    if (tensor.shape.size() == 2 && tensor.name.ends_with(kWeight)) {
      out[key] = tensor.row_values();
    } else if (tensor.shape.size() == 3 && key.ends_with(".experts")) {
      const bool is_down = tensor.name.ends_with(".down_proj");
      for (const char* word : {"gate_proj", "up_proj", "down_proj"}) {
        if ((word == std::string_view("down_proj")) != is_down) continue;
        out[fmt::format("{}.*.{}", key, word)] = tensor.row_values();
      }
    }
  }
  return out;
}

// Of a stack of experts the first of those that it is cut into; others as they are.
std::string first_layer(const std::string& key) {
  constexpr std::string_view kGateUp = ".experts.gate_up_proj", kDown = ".experts.down_proj";
  if (key.ends_with(kGateUp)) return fmt::format("{}.*.gate_proj", module_of(key));
  return key.ends_with(kDown) ? fmt::format("{}.*.down_proj", module_of(key)) : key;
}

// Layers that exports quantize by default, as far as names tell.
bool wants_moments(const std::string& key) {
  constexpr std::string_view kNever[] = {"gate",      "router",    "shared_expert_gate",
                                         "in_proj_a", "in_proj_b", "conv1d"};
  const bool is_in_layer = key.find("layers.") != key.npos;
  const bool is_other = key.starts_with("mtp.") || key.find("vis") != key.npos;
  return is_in_layer && !is_other && std::ranges::count(kNever, last_word(key)) == 0;
}

void fit_one(const Tensor& tensor, const std::map<std::string, uint64_t>& columns,
             std::set<std::string>& known, MomentsFit& out) {
  if (!tensor.name.ends_with(kInputMoments)) {
    out.unknown.push_back(tensor.name);
    return;
  }
  const std::string module = tensor.name.substr(0, tensor.name.size() - kInputMoments.size());
  const auto layer = columns.find(first_layer(moments_key(module)));
  if (layer == columns.end()) {
    out.unknown.push_back(module);
    return;
  }
  const std::vector<uint64_t>& shape = tensor.shape;
  const bool is_square = shape.size() == 3 && shape[1] == shape[2] && shape[2] % 16 == 0;
  if (!is_square) {
    out.wrong.push_back(fmt::format("{}: [{}]; expected [runs, n, n], n a multiple of 16",
                                    tensor.name, fmt::join(shape, ", ")));
  } else if (shape[0] > layer->second || shape[0] * shape[2] != layer->second) {
    out.wrong.push_back(fmt::format("{}: {} x {} columns; the layer has {}", tensor.name, shape[0],
                                    shape[2], layer->second));
  } else {
    ++out.layers;
    known.insert(layer->first);
  }
}

Result<MomentsFit> fit_moments(const Checkpoint& model, const Checkpoint& moments) {
  const std::map<std::string, uint64_t> columns = columns_of_layers(model);
  MomentsFit out;
  std::set<std::string> known;
  for (const Tensor& tensor : moments.tensors) fit_one(tensor, columns, known, out);
  std::vector<std::string> layers;
  for (const auto& [key, count] : columns) layers.push_back(key);
  CKPT_ASSIGN(const std::vector<std::string> groups, joined_layers(model, layers));
  // One of those that read the same input is enough.
  std::set<std::string> served;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (known.count(layers[i]) != 0) served.insert(groups[i]);
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    if (wants_moments(layers[i]) && served.count(groups[i]) == 0) out.missing.push_back(layers[i]);
  }
  return out;
}

Result<Checkpoint> read_headers(const std::filesystem::path& path) {
  CKPT_ASSIGN(const Format* format, recognize(path));
  return format->read(path, all_codecs());
}

}  // namespace

Result<bool> show_moments(const std::filesystem::path& path, const std::filesystem::path& moments,
                          const Console& console) {
  CKPT_ASSIGN(const Checkpoint model, read_headers(path));
  if (model.format == "gguf") {
    return fail_with_hint(ErrorCode::kUsage, "the folder that it was made from",
                          "--moments {}: {} is a GGUF; moments are of the layers of a folder",
                          moments.string(), path.string());
  }
  CKPT_ASSIGN(const Checkpoint measured, read_headers(moments));
  const bool has_any = std::ranges::any_of(
      measured.tensors, [](const Tensor& tensor) { return tensor.name.ends_with(kInputMoments); });
  if (!has_any) {
    return fail_with_hint(ErrorCode::kUsage, "a file as docs/SEARCH.md makes it",
                          "--moments {}: no tensor in it is named *{}", moments.string(),
                          kInputMoments);
  }
  CKPT_ASSIGN(const MomentsFit fit, fit_moments(model, measured));
  const bool is_good = fit.wrong.empty() && fit.layers > 0;
  console.answer(fmt::format("{}: {}", moments.string(),
                             is_good ? fmt::format("fits: moments of {} layers", fit.layers)
                             : fit.wrong.empty()
                                 ? "is of another model: it names none of its layers"
                                 : fmt::format("does not fit: {} wrong", fit.wrong.size())));
  for (size_t i = 0; i < std::min(fit.wrong.size(), kMostWrongLines); ++i) {
    console.answer("  " + fit.wrong[i]);
  }
  if (fit.wrong.size() > kMostWrongLines) {
    console.answer(fmt::format("  and {} more", fit.wrong.size() - kMostWrongLines));
  }
  if (!fit.unknown.empty()) console.answer("  not in the model: " + first_names(fit.unknown));
  if (!fit.missing.empty()) {
    console.answer(fmt::format("  layers without moments: {}", first_names(fit.missing)));
  }
  console.object("statistics", {{"file", moments.string()},
                                {"fits", is_good},
                                {"tensors", fit.layers},
                                {"wrong", fit.wrong},
                                {"unknown", fit.unknown},
                                {"missing", fit.missing},
                                {"experts", 0},
                                {"unseen", 0}});
  return is_good;
}

}  // namespace ckpt
