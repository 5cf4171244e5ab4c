// A recipe: what a command line says, kept in a JSON or YAML file, or in stdin ("-").
//
//   {
//     // comments of both kinds are allowed
//     "in": "base/", "out": "out/", "to": "nvfp4",
//     "steps": [{"name": "graft", "from": "mtp/", "tensors": ["mtp.*"]}, "drop:tensors=x.*"],
//     "for": ["vllm-0.17"], "base": "base/", "preset": "mlp-only", "keep": ["*.gate*"],
//     "also": [{"out": "out.gguf", "to": "q6_k"}]
//   }
//
// Paths, those in options of steps too, are relative to the recipe, not to where the program runs.
// A flag that is typed in addition to the recipe wins over its key. docs/RECIPES.md.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "plan/conversion/steps.h"

namespace ckpt {

struct Recipe {
  std::filesystem::path in, out;  // empty when not given
  std::string to;
  std::vector<Step> steps;
  std::vector<std::string> profiles;  // "for"
  // All other options of convert by their names (option_table.h), in the recipe's order: paths
  // as they are from here, "yes" for a flag. What is false in the recipe is left out.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::filesystem::path, std::string>> also;  // OUT, TYPE
};

// Fails: kUsage: no JSON; a key, step or option that is not known, by its name; a value of another
// kind; kIo.
Result<Recipe> read_recipe(const std::filesystem::path& path);
// The recipe `text`, as if it lay at `path`. Fails: as read_recipe, but kIo.
Result<Recipe> parse_recipe(const std::filesystem::path& path, const std::string& text);

// The files that its presets are read from, imports too, each once. Fails: as the export step does.
Result<std::vector<std::filesystem::path>> preset_files(const Recipe& recipe);

// `json` with every comment made blank, so that places in it stay what they were.
std::string without_comments(std::string json);

}  // namespace ckpt
