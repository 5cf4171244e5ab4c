// The list of towers, and what follows from a table: the parameters of a tower, and the row of a
// tensor.
#include <algorithm>

#include "core/base/find.h"
#include "core/base/words.h"
#include "models/towers/list.h"

namespace ckpt {
namespace towers {
namespace {

const TowerTable* const kTowers[] = {
    &kQwen2VlTower,        &kQwen25VlTower, &kQwen3VlTower,   &kQwen35Tower,     &kGlm4vTower,
    &kGlmOcrTower,         &kMistral3Tower, &kLlavaTower,     &kLlama4Tower,     &kGemma3Tower,
    &kLfm2VlTower,         &kSmolVlmTower,  &kPaddleOcrTower, &kMiniCpmV46Tower, &kMiniMaxM3Tower,
    &kGranite4VisionTower, &kInternVlTower, &kHunyuanVlTower, &kGemma4Tower,     &kWhisperTower,
    &kGemma3nTower,
};

}  // namespace
}  // namespace towers

namespace {

// Vision, audio and speech towers, and their projectors.
constexpr std::string_view kTowerStarts[] = {
    "mlp1.", "mlp_AR.", "vit.", "vpm.", "siglip2.", "resampler.",           // vision
    "conformer.", "sound_encoder.", "sound_projection.", "speech_embeddings."};  // sound
constexpr std::string_view kTowerWords[] = {
    "visual",      "vision",         "audio",         "talker.",          "token2wav.",
    "code2wav.",   "projector",      "image_newline", "patch_merge_mlp.", "merger.",
    "patch_embed", "view_seperator", "model.connector."};
constexpr std::string_view kTowerSuffixes[] = {"", ".weight", ".bias"};

// The words of a row behind the dimensions of its shape.
struct TowerWords {
  std::string_view dimensions;
  std::vector<std::string_view> words;

  explicit TowerWords(std::string_view shape) : dimensions(take_word(shape, ',')) {
    words = split_words(shape);
  }
  bool has(std::string_view word) const { return std::ranges::find(words, word) != words.end(); }
  // The field of "word:FIELD"; empty without one.
  std::string_view field(std::string_view start) const {
    for (const std::string_view word : words) {
      if (word.starts_with(start)) return word.substr(start.size());
    }
    return {};
  }
};

// vision_config, with the objects that shapes take fields from; lists count as their entries.
JsonValue fields_of(const JsonValue& root, uint64_t hidden) {
  const JsonValue* vision = known(root, "vision_config");
  JsonValue out = vision != nullptr && vision->is_object() ? *vision : JsonValue::object();
  const JsonValue sizes = out;
  for (const char* field : {"image_size", "patch_size"}) {  // a pair of equal sizes
    const JsonValue& pair = list_in(sizes, field);
    if (!pair.empty()) out[field] = pair[0];
  }
  const JsonValue& mergers = list_in(sizes, "deepstack_visual_indexes");
  if (sizes.contains("deepstack_visual_indexes")) {
    out["deepstack_visual_indexes"] = static_cast<uint64_t>(mergers.size());
  }
  for (const auto& [field, value] : root.items()) {
    if (value.is_array()) out["wrapper." + field] = static_cast<uint64_t>(value.size());
    if (value.is_primitive()) out["wrapper." + field] = value;
  }
  for (const auto& [field, value] : object_in(root, "qformer_config").items()) {
    out["wrapper.qformer_config." + field] = value;
  }
  if (const JsonValue* audio = known(root, "audio_config")) out["audio"] = *audio;
  out["text.hidden_size"] = hidden;
  return out;
}

class TowerParameters {
 public:
  TowerParameters(const TowerTable& tower, JsonValue fields)
      : tower_(tower), fields_(std::move(fields)) {}

  Status add(const TowerRule& row) {
    const TowerWords words(row.shape);
    const std::string_view when = words.field("if:");
    if (words.dimensions.empty() || (!when.empty() && !is_true(when))) return {};
    std::vector<uint64_t> shape;
    if (words.dimensions != "?")
      CKPT_SET(shape, numbers_of_fields(table_, fields_, words.dimensions));
    const std::string_view bias = words.field("bias:");
    const bool has_bias = words.has("bias") || (!bias.empty() && is_true(bias));
    for (const std::string& pattern : each_name(row.from)) {
      const bool is_exact =
          words.has("bare") || pattern.ends_with(".weight") || pattern.ends_with(".bias");
      CKPT_ASSIGN(const uint64_t count, count_of(pattern, words.field("each:")));
      for (uint64_t i = 0; i < count; ++i) {
        const std::string name = fill_in(pattern, {std::to_string(i)});
        out.push_back(made(is_exact ? name : name + ".weight", shape, row.cut));
        if (!has_bias) continue;
        std::vector<uint64_t> rows = shape;
        rows.resize(std::min<size_t>(shape.size(), 1));
        const bool are_cut = row.cut == ServerCut::kRows;
        out.push_back(made(name + ".bias", rows, are_cut ? row.cut : ServerCut::kWhole));
      }
    }
    return {};
  }
  std::vector<Parameter> out;

 private:
  static Parameter made(std::string name, std::vector<uint64_t> shape, ServerCut cut) {
    return {std::move(name), std::move(shape), cut, ModelPart::kVision};
  }

  bool is_true(std::string_view field) const {
    const auto value = number_of_fields(table_, fields_, field);
    return value && *value != 0;
  }

  // How many tensors the name stands for.
  Result<uint64_t> count_of(std::string_view pattern, std::string_view each) const {
    if (pattern.find("{}") == pattern.npos) return 1;
    const std::string_view field = each.empty() ? tower_.depth : each;
    CKPT_ASSIGN(const uint64_t count, number_of_fields(table_, fields_, field));
    if (count <= kMaxModelLayers) return count;
    return unsupported("config.json: vision_config.{} is {}; at most {}", field, count,
                       kMaxModelLayers);
  }

  const TowerTable& tower_;
  const JsonValue fields_;
  const Family table_{.defaults = tower_.defaults};
};

bool fits_row(const TowerTable& tower, std::string_view stem, TowerMatch& out) {
  for (const auto& rows : tower.rows) {
    for (const TowerRule& row : rows) {
      const std::vector<std::string> names = each_name(row.from);
      const auto found = std::ranges::find_if(names, [&](const std::string& pattern) {
        return matches_pattern(pattern, stem, out.numbers);
      });
      if (found == names.end()) continue;
      out.rule = &row;
      if (!row.to.empty())
        out.to = each_name(row.to).at(static_cast<size_t>(found - names.begin()));
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_of_tower(std::string_view name) {
  return std::ranges::any_of(kTowerStarts,
                             [&](std::string_view start) { return name.starts_with(start); }) ||
         std::ranges::any_of(kTowerWords,
                             [&](std::string_view word) { return name.find(word) != name.npos; });
}

const TowerTable& tower_named(std::string_view kind) {
  for (const TowerTable* tower : towers::kTowers) {
    if (tower->kind == kind) return *tower;
  }
  CKPT_CHECK(false);
  return *towers::kTowers[0];
}

const TowerTable* tower_of(std::string_view wrapper_type, const JsonValue& config) {
  const std::string_view type = text_in(object_in(config, "vision_config"), "model_type");
  for (const TowerTable* tower : towers::kTowers) {
    if (!has_word(tower->wrappers, wrapper_type)) continue;
    return tower->type.empty() || tower->type == type ? tower : nullptr;
  }
  return nullptr;
}

Result<std::vector<Parameter>> expected_tower(const TowerTable& tower, const JsonValue& root,
                                              uint64_t hidden) {
  TowerParameters list(tower, fields_of(root, hidden));
  for (const auto& rows : tower.rows) {
    for (const TowerRule& row : rows) CKPT_TRY(list.add(row));
  }
  return std::move(list.out);
}

std::string known_in_tower(const TowerTable& tower, std::string_view name) {
  for (const TowerPrefix& prefix : tower.prefixes) {
    if (!name.starts_with(prefix.found)) continue;
    std::string known = fmt::format("{}{}", prefix.known_as, name.substr(prefix.found.size()));
    return tower.mid.empty() ? known : replace_all(known, fmt::format("{}.", tower.mid), ".");
  }
  return {};
}

std::optional<TowerMatch> find_tower_rule(const TowerTable& tower, std::string_view name) {
  const std::string known = known_in_tower(tower, name);
  if (known.empty()) return std::nullopt;
  TowerMatch out;
  const std::span<const std::string_view> common = kTowerSuffixes;
  for (const auto& suffixes : {common, tower.more_suffixes}) {
    for (const std::string_view suffix : suffixes) {
      if (!known.ends_with(suffix)) continue;
      out.suffix = suffix;
      if (fits_row(tower, known.substr(0, known.size() - suffix.size()), out)) return out;
    }
  }
  return std::nullopt;
}

}  // namespace ckpt
