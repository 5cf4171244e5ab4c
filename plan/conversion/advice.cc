#include "plan/conversion/advice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "checks/checks.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "plan/conversion/added_steps.h"
#include "plan/conversion/option_table.h"

namespace ckpt {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kCkptCommand = "ckpt ", kOrElse = "; ", kConvert = "ckpt convert ";
constexpr std::string_view kAgainFrom = "ckpt convert BASE OUT ";

std::string_view command_of(std::string_view advice) {
  return advice.starts_with(kCkptCommand) ? advice.substr(0, advice.find(kOrElse))
                                          : std::string_view();
}

// The model's name for a snapshot in the Hub's cache: "Qwen3-8B" for models--Qwen--Qwen3-8B.
std::string cached_name(const fs::path& path) {
  const std::string repository = path.parent_path().parent_path().filename().string();
  const bool is_cached = path.parent_path().filename() == "snapshots";
  const size_t at = repository.rfind("--");
  return is_cached && at != repository.npos ? repository.substr(at + 2) : std::string();
}

// The ending for OUT's name: "nvfp4" for "--to nvfp4"; "fixed" without --to.
std::string_view ending_of(std::string_view command) {
  constexpr std::string_view kTo = "--to ";
  const size_t at = command.find(kTo);
  if (at == command.npos) return "fixed";
  const std::string_view rest = command.substr(at + kTo.size());
  return rest.substr(0, rest.find(' '));
}

bool is_name_byte(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// Replaces `word` where it occurs as a separate word.
std::string with_word(std::string text, std::string_view word, std::string_view value) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at)) {
    const size_t end = at + word.size();
    const bool is_whole = (at == 0 || !is_name_byte(text[at - 1])) &&
                          (end == text.size() || !is_name_byte(text[end]));
    if (is_whole) text.replace(at, word.size(), value);
    at += is_whole ? value.size() : word.size();
  }
  return text;
}

// Replaces OUT, BASE and IN word by word, because names of folders may contain these words.
std::string with_paths(std::string_view text, const AdviceTarget& on) {
  const std::string base = shell_path(on.base);
  std::string words;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    const bool is_part = word != "BASE" && base.starts_with('\'');  // inside quotes
    std::string made =
        on.base.empty() || is_part ? std::string(word) : with_word(std::string(word), "BASE", base);
    if (word == "OUT") made = free_name(on.path, ending_of(text));
    if (word == "OUT.gguf") made = free_name(on.path, ending_of(text), ".gguf");
    if (made == word) made = with_word(std::move(made), "IN", shell_path(on.path.string()));
    words += made;
    words += rest.substr(end, 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return words;
}

}  // namespace

std::string free_name(const fs::path& path, std::string_view ending, std::string_view extension) {
  fs::path from = (path / "").parent_path();
  if (from.filename() == "." || from.filename() == ".." || from.filename().empty()) {
    from = (fs::absolute(from) / "").lexically_normal().parent_path();
  }
  const std::string cached = cached_name(from);
  const fs::path parent = from.parent_path();
  const bool is_here =
      !cached.empty() || ::access(parent.empty() ? "." : parent.c_str(), W_OK) != 0;
  const bool is_gguf = has_ending(from.native(), ".gguf");
  const std::string stem = !cached.empty() ? cached
                           : is_gguf       ? from.stem().string()
                                           : from.filename().string();
  const std::string_view last = is_gguf ? ".gguf" : extension;
  const fs::path folder = is_here ? fs::path() : parent;
  std::error_code error;
  for (int i = 1;; ++i) {
    const std::string number = i == 1 ? std::string() : fmt::format("-{}", i);
    fs::path made =
        folder / fmt::format("{}{}{}{}{}", stem, ending.empty() ? "" : "-", ending, number, last);
    if (fs::symlink_status(made, error).type() == fs::file_type::not_found) {
      return shell_path(made.string());
    }
  }
}

std::string with_profiles(std::string line, const std::vector<std::string>& profiles) {
  if (profiles.size() == all_profiles().size()) return line + " --for all";
  for (const std::string& profile : profiles) line += " --for " + shell_word(profile);
  return line;
}

std::string advised_command(std::string_view advice, const AdviceTarget& on) {
  const std::string_view command = command_of(advice);
  std::string made = with_paths(command, on);
  return command.starts_with(kConvert) ? with_profiles(std::move(made), on.profiles) : made;
}

std::string advised_words(std::string_view advice, const AdviceTarget& on) {
  std::string_view rest = advice.substr(command_of(advice).size());
  for (const std::string_view joint : {kOrElse, std::string_view("or ")}) {
    if (rest.size() != advice.size() && rest.starts_with(joint)) rest.remove_prefix(joint.size());
  }
  return with_paths(rest, on);
}

SourceScales source_scales(const Checkpoint& checkpoint) {
  SourceScales out;
  for (const Tensor& tensor : checkpoint.tensors) {
    out.has_inputs |= tensor.name.ends_with(".input_scale");
    out.has_awq |= tensor.name.ends_with(".pre_quant_scale");
  }
  return out;
}

Error with_command(Error error, const Conversion& conversion, const SourceScales& scales) {
  const bool is_from_recipe = std::ranges::any_of(conversion.given, [](const GivenOption& given) {
    return given.is_from_recipe || given.name == "recipe";
  });
  const bool is_answered = error.hint == "--step dequantize before it";
  const bool is_modelopt = scales.has_inputs || scales.has_awq;  // other formats need more options
  if (!is_answered || is_from_recipe || !is_modelopt) return error;
  const bool moves_awq = scales.has_awq && is_export_type(conversion.to);
  const std::string in = shell_path(conversion.in.string());
  std::string line = convert_line(conversion, shell_path(conversion.out.string()));
  if (moves_awq) {
    const std::string base = conversion.base.empty() ? "BASE" : conversion.base;
    line += " --step " + shell_word(fmt::format("mixed-to-nvfp4:base={}", base));
    if (conversion.base.empty()) line += ", where BASE is the unquantized model's folder";
  } else {
    line += " --step dequantize";
    const bool needs_maxima = conversion.to == "nvfp4" || conversion.to == "fp8";
    const bool has_maxima = conversion.flags.has("amax-from");
    if (needs_maxima && scales.has_inputs && !has_maxima) line += " --amax-from " + in;
  }
  error.hint = std::move(line);
  return error;
}

std::string advised_options(std::string_view advice) {
  std::string_view command = command_of(advice);
  const size_t keep = command.find(" --keep "), preset = command.rfind(" --preset mlp-only");
  const size_t at = std::min(keep, preset);
  const bool is_again = command.starts_with(kAgainFrom) && at != command.npos;
  return is_again ? std::string(command.substr(at + 1)) : std::string();
}

}  // namespace ckpt
