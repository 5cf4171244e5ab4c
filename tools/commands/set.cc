// ckpt set PATH KEY=VALUE: edits metadata and JSON documents in place.
#include "plan/conversion/edits.h"
#include "tools/commands/carry_patch.h"
#include "tools/line/commands.h"

namespace ckpt {
namespace {

struct TypedSet {
  PatchRun run;
  std::vector<std::string> set, removed;
};

// The error for "KEY VALUE" and "--set KEY=VALUE", which other programs accept.
Failure no_value(const TypedSet& typed, const std::string& word) {
  if (word.starts_with('=')) {
    return misuse_hint("ckpt help set", "'{}' has no key; expected KEY=VALUE", word);
  }
  if (word.starts_with('-')) {  // typed after "--"
    return misuse_hint("ckpt help set", "'{}' is neither KEY=VALUE nor an option here", word);
  }
  const std::string path = shell_path(typed.run.path.string());
  const bool is_pair = typed.set.size() == 2 && typed.set[1].find('=') == word.npos;
  const std::string meant = is_pair ? shell_word(fmt::format("{}={}", typed.set[0], typed.set[1]))
                                    : fmt::format("{}=VALUE", shell_word(word));
  return misuse_hint(fmt::format("ckpt set {} {}", path, meant),
                     "'{}' has no value; expected KEY=VALUE", word);
}

Result<std::vector<KeyEdit>> read_edits(const TypedSet& typed) {
  std::vector<KeyEdit> edits;
  for (const std::string& word : typed.set) {
    const size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) return no_value(typed, word);
    if (word.substr(equals) == "=@") {
      const std::string text = shell_word(word.substr(0, equals) + "=text:@");
      return misuse_hint(fmt::format("{} for this character", text),
                         "'{}' names no file; expected KEY=@FILE", word);
    }
    edits.push_back({true, word.substr(0, equals), word.substr(equals + 1)});
  }
  for (const std::string& key : typed.removed) edits.push_back({false, key, {}});
  if (!edits.empty()) return edits;
  return misuse_hint(fmt::format("ckpt get {}", shell_path(typed.run.path.string())),
                     "{}: no KEY=VALUE and no --remove KEY", typed.run.path.string());
}

Result<int> set(TypedSet& typed, const Console& console, const CommonOptions& common) {
  PatchRun& run = typed.run;
  CKPT_TRY(check_patched_out(run));
  CKPT_ASSIGN(const std::vector<KeyEdit> edits, read_edits(typed));
  ConsoleObserver observer(console, &interrupted);
  if (!run.dry_run && !run.elsewhere) CKPT_TRY(finish_earlier(run.path, observer));
  CKPT_ASSIGN(run.steps, steps_of_edits(run.path, edits, run.reading));
  return run_patch(run, console, common, edits.size());
}

Run declare_set(CommandOptions& options) {
  auto typed = std::make_shared<TypedSet>();
  typed->run.reading.keep_unknown_types = true;
  options.add("PATH", &typed->run.path, "a .gguf, a Hugging Face folder or a .safetensors",
              {.is_required = true, .place = OptionPlace::kWritten, .unless = {"--out"}});
  options.add("KEY=VALUE", &typed->set,
              "key to set; in a folder DOCUMENT.json:KEY, or KEY for config.json. "
              "KEY=@FILE: the text of a file; KEY=TYPE:VALUE: u32, f32, bool, text, ...");
  options.add("--remove KEY", &typed->removed, "a key to remove (may repeat)");
  options.add("--out PATH", &typed->run.out,
              "write the edited checkpoint here; PATH stays as it is",
              {.place = OptionPlace::kWritten});
  options.add("--dry-run", &typed->run.dry_run, "show each value before and after, write nothing");
  declare_follow_links(options, &typed->run.reading.follow_links);
  return run_with(std::move(typed), set);
}

}  // namespace

extern const Command kSetCommand{
    "set", "Sets GGUF metadata, or values in a folder's JSON documents.",
    "  ckpt set model.gguf general.name='My model' tokenizer.ggml.add_bos_token=false\n"
    "  ckpt set model.gguf tokenizer.chat_template=@chat.jinja --dry-run\n"
    "  ckpt set model.gguf my.key=u32:5 --remove general.url\n"
    "  ckpt set model/ max_position_embeddings=40960 generation_config.json:temperature=0.6",
    declare_set};

}  // namespace ckpt
