// A recipe: the options of a command line in a JSON or YAML file, or on stdin ("-").
//
//   {
//     // comments of both kinds are allowed
//     "in": "base/", "out": "out/", "to": "nvfp4",
//     "steps": [{"name": "graft", "from": "mtp/", "tensors": ["mtp.*"]}, "drop:tensors=x.*"],
//     "for": ["vllm-0.17"], "base": "base/", "preset": "mlp-only", "keep": ["*.gate*"],
//     "also": [{"out": "out.gguf", "to": "q6_k"}]
//   }
//
// Paths, including those in options of steps, are relative to the recipe, not to the current
// directory. An option on the command line wins over the key of the recipe. docs/RECIPES.md.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/json/json_edit.h"
#include "plan/conversion/steps.h"

namespace ckpt {

struct Recipe {
  std::filesystem::path in, out;  // empty when not given
  std::string to;
  std::vector<Step> steps;
  std::vector<std::string> profiles;  // "for"
  // All other options of convert by their names (option_table.h), in the recipe's order: paths
  // relative to the current directory, "yes" for a flag. Flags that are false are omitted.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::filesystem::path, std::string>> also;  // OUT, TYPE
};

// Fails: kUsage: not JSON; an unknown key, step or option, by name; a value of another kind; kIo.
Result<Recipe> read_recipe(const std::filesystem::path& path);
// The recipe `text`, as if it were the file `path`. Fails: as read_recipe, except kIo.
Result<Recipe> parse_recipe(const std::filesystem::path& path, const std::string& text);

// The files of its presets, including imports, each once. Fails: as the export step does.
Result<std::vector<std::filesystem::path>> preset_files(const Recipe& recipe);

// `json` with comments replaced by blanks, so that positions do not change.
std::string without_comments(std::string json);

// Requires that no text of `json`, a recipe or a plan file, has a login in a URL, names of members
// included: these files hold what could have been typed. Fails: kUsage.
Status refuse_url_logins(const JsonText& json);

}  // namespace ckpt
