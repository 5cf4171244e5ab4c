#include "plan/conversion/uncopied.h"

#include <algorithm>

#include "core/base/printable.h"
#include "core/model/adapter.h"
#include "core/model/json_documents.h"

namespace ckpt {
namespace {

std::string list_of(const std::vector<NamedFile>& files) {
  std::vector<std::string> paths;
  for (const NamedFile& file : files) paths.push_back(file.path);
  return printable(fmt::format("{}", fmt::join(paths, ", ")));
}

std::string documents_of(const std::vector<NamedFile>& files) {
  std::vector<std::string> names;
  for (const NamedFile& file : files) names.push_back(file.document);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return fmt::format("{} {}", fmt::join(names, " and "), names.size() == 1 ? "names" : "name");
}

bool merges_adapter_of(const std::filesystem::path& in, const std::vector<Step>& steps) {
  return std::ranges::any_of(steps, [&](const Step& step) {
    const std::optional<std::string> from = step.options.get("from");
    if (step.transform->name != "lora" || !from) return false;
    std::error_code error;
    return *from == in.string() || std::filesystem::equivalent(*from, in, error);
  });
}

// Whether an adapter can become `out`: a copy, a GGUF with --base, or a GGUF of another float type.
bool fits_adapter(const Checkpoint& adapter, const Conversion& conversion, const AlsoOutput& out) {
  const bool is_file = is_gguf_path(out.out);
  if (adapter.format == "gguf") return is_file && (out.to.empty() || is_float_type(out.to));
  return !is_export_type(out.to) && (!is_file || !conversion.base.empty());
}

}  // namespace

Status check_whole_model(const Checkpoint& checkpoint, const Conversion& conversion) {
  const std::string what = adapter_words(checkpoint);
  if (what.empty()) return in(conversion.in.string(), require_model(checkpoint));
  const bool is_gguf = checkpoint.format == "gguf";
  const bool fits = fits_adapter(checkpoint, conversion, {conversion.out, conversion.to}) &&
                    std::ranges::all_of(conversion.also, [&](const AlsoOutput& also) {
                      return fits_adapter(checkpoint, conversion, also);
                    });
  if (!fits) {
    const std::string_view other = is_gguf ? "; an OUT that ends in .gguf and no --to, or --to "
                                             "f16, bf16 or f32, to write it alone"
                                   : conversion.base.empty()
                                       ? "; --base BASE, to make a GGUF of it alone"
                                       : "";
    return in(conversion.in.string(), require_model(checkpoint, other));
  }
  return {};
}

void note_copied_adapter(const Checkpoint& checkpoint, const Conversion& conversion,
                         const Context& context) {
  const std::string what = adapter_words(checkpoint);
  if (what.empty() || is_gguf_path(conversion.out)) return;
  context.note("{} is a {}, not a model; it is copied as one", conversion.in.string(), what);
}

void leave_adapter(Checkpoint& model, const std::filesystem::path& in,
                   const std::vector<Step>& steps, const Context& context) {
  constexpr const char* kConfig = "adapter_config.json";
  const bool is_model =
      model.find_document("config.json") != nullptr && !has_inner_adapter(model);
  if (!is_model || !adapter_words(model).empty() || !model.remove_document(kConfig)) return;
  if (merges_adapter_of(in, steps)) return;
  context.note(
      "{}: the adapter, which transformers adds to the weights of such a folder, is left out; "
      "--step {} merges it",
      kConfig, shell_word("lora:from=" + in.string()));
}

void note_uncopied(Checkpoint& output, const Context& context) {
  if (output.format == "gguf") return;
  std::vector<NamedFile> code = named_code(output);
  if (output.code_files) {
    std::erase_if(code, [&](const NamedFile& file) {
      return std::ranges::find(*output.code_files, file.path) == output.code_files->end();
    });
  }
  if (!code.empty()) {
    context.note("{} code, which is not copied: {}; copy it, and what it imports, after reading it",
                 documents_of(code), list_of(code));
  }
  const std::vector<NamedFile> modules = modules_without_files(output);
  if (!modules.empty()) {
    context.note("{} modules that are not copied: {}; copy them, or OUT is another model",
                 documents_of(modules), list_of(modules));
  }
  output.code_files.emplace();
  output.other_weights.clear();
}

}  // namespace ckpt
