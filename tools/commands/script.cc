// ckpt script [NAME]: prints the Python scripts that messages and documents name.
#include <nlohmann/json.hpp>

#include "tools/line/commands.h"

namespace ckpt {

extern const std::string_view
    kCollectAmax;  // docs/collect_amax.py, embedded by cmake/embed_file.cmake

namespace {

struct Script {
  std::string_view name, text;
};

std::vector<Script> all_scripts() { return {{"collect_amax", kCollectAmax}}; }

// The first line of the script's docstring.
std::string_view summary_of(const Script& script) {
  const size_t start = script.text.find("\"\"\"") + 3;
  return script.text.substr(start, script.text.find('\n', start) - start);
}

Result<int> print_script(const std::string& name, const Console& console) {
  std::string stem = name;
  if (stem.ends_with(".py")) stem.resize(stem.size() - 3);
  std::vector<std::string_view> names;
  for (const Script& script : all_scripts()) {
    names.push_back(script.name);
    if (!stem.empty() && script.name != stem) continue;
    console.object("script", {{"name", script.name}, {"text", script.text}});
    if (stem.empty()) {
      console.answer("{}  {}", script.name, summary_of(script));
    } else {
      console.answer_lines(script.text);
      return 0;
    }
  }
  if (stem.empty()) return 0;
  return misuse_hint(fmt::format("ckpt script {}", names.front()),
                     "{}: not a script of ckpt; expected one of {}", name, fmt::join(names, ", "));
}

Run declare_script(CommandOptions& options) {
  auto name = std::make_shared<std::string>();
  options.add("NAME", name.get(), "script to print; default: list them");
  return
      [name](const Console& console, const CommonOptions&) { return print_script(*name, console); };
}

}  // namespace

extern const Command kScriptCommand{"script",
                                    "Prints a Python script that measures a model for ckpt.",
                                    "  ckpt script\n"
                                    "  ckpt script collect_amax > collect_amax.py",
                                    declare_script};

}  // namespace ckpt
