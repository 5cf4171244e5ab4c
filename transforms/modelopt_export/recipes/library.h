// Files that ModelOpt ships for recipes to import, and the recipes that it ships.
#pragma once

#include <optional>
#include <string_view>

#include "core/json/json_read.h"

namespace ckpt {

// The kind of a file by its comment "modelopt-schema".
enum class SnippetKind : uint8_t { kNone, kQuantConfig, kAttributes, kEntry, kEntries };

struct Snippet {
  SnippetKind kind = SnippetKind::kNone;
  JsonValue value;
};

// `path` below modelopt_recipes, with ".yaml" or without: "configs/numerics/nvfp4". Its imports are
// in their places; scalars are texts, as in YAML that was read. nullopt: ModelOpt ships no such.
std::optional<Snippet> library_snippet(std::string_view path);

// `name` as "nvfp4_default-kv_fp8": metadata and quantize.
std::optional<JsonValue> library_recipe(std::string_view name);

}  // namespace ckpt
