// A recipe: command-line options in a JSON or YAML file, or on stdin ("-").
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
// directory. Options on the command line override keys of the recipe (docs/RECIPES.md).
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
  std::filesystem::path in, out;  // empty if not given
  std::string to;
  std::vector<Step> steps;
  std::vector<std::string> profiles;  // key "for"
  // All other options of convert by name (option_table.h), in the recipe's order. Paths are
  // relative to the current directory, "yes" stands for a flag. Flags that are false are omitted.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::filesystem::path, std::string>> also;  // (OUT, TYPE)
};

// Fails: kUsage: not JSON; an unknown key, step or option (named); a value of another kind; kIo.
Result<Recipe> read_recipe(const std::filesystem::path& path);
// Parses `text` as if it were the file `path`. Fails: as read_recipe, except kIo.
Result<Recipe> parse_recipe(const std::filesystem::path& path, const std::string& text);

// The files of its presets, including imports, without duplicates. Fails: as the export step does.
Result<std::vector<std::filesystem::path>> preset_files(const Recipe& recipe);

// Returns `json` with comments replaced by spaces, so that positions do not change.
std::string without_comments(std::string json);

// Requires that no text in `json`, a recipe or a plan file, contains a login in a URL, including
// names of members: these files record what could have been typed. Fails: kUsage.
Status refuse_url_logins(const JsonText& json);

}  // namespace ckpt
