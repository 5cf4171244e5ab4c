// Checks files of the folder other than the model.
//
// Sources: safetensors src/tensor.rs; transformers src/transformers/modeling_utils.py and
// generation/configuration_utils.py.
// Some readers load files without {"format": "pt"}, others fail.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "checks/subject/subject.h"
#include "core/base/printable.h"
#include "core/model/json_documents.h"

namespace ckpt {
namespace {

void check_format(const CheckContext& context) {
  if (context.on.checkpoint.format != "safetensors") return;
  for (const auto& [file, metadata] : context.on.checkpoint.file_metadata) {
    if (!file.ends_with(".safetensors") || metadata.find("format") != nullptr) continue;
    return context.report(fmt::format("{}: __metadata__", file), "no \"format\": \"pt\"");
  }
}

constexpr const char* kIndex = "model.safetensors.index.json";

// Readers that use the index also read its "metadata", and look for no other file names. Source:
// transformers src/transformers/utils/hub.py (get_checkpoint_shard_files).
void check_index(const CheckContext& context) {
  const auto& files = context.on.checkpoint.file_metadata;
  const bool is_folder =
      context.on.checkpoint.format == "safetensors" && !context.on.config.is_null();
  if (!is_folder || files.empty() || files.contains("model.safetensors")) return;
  if (files.contains(kIndex) || context.on.files_to_write) return;
  context.report(kIndex, "missing, or without an object \"metadata\"");
}

// The files of weights, with the index if they have one.
std::set<std::string> files_of(const Subject& on) {
  std::set<std::string> out;
  if (on.files_to_write) {
    std::ranges::copy_if(
        *on.files_to_write, std::inserter(out, out.end()),
        [](const std::string& file) { return file.ends_with(".safetensors") || file == kIndex; });
    return out;
  }
  for (const auto& [file, metadata] : on.checkpoint.file_metadata) out.insert(file);
  return out;
}

// Servers list *.safetensors and keep the files that the index names; the converter opens the files
// of an index if model*.safetensors exist; transformers opens model.safetensors if it exists, else
// the files of the index.
// Sources: vLLM and SGLang 0.5.12 model_loader/weight_utils.py
// (filter_duplicate_safetensors_files); llama.cpp conversion/base.py (index_tensors); transformers
// modeling_utils.py (_get_resolved_checkpoint_files).
void check_listed_files(const CheckContext& context) {
  const std::set<std::string> files = files_of(context.on);
  if (context.on.checkpoint.format != "safetensors" || context.on.config.is_null()) return;
  const auto is_listed = [](std::string_view file) {
    return file.ends_with(".safetensors") && file.find('/') == file.npos;
  };
  if (context.is(Program::kLlamaCpp)) {
    const bool is_found = std::ranges::any_of(files, [&](const std::string& file) {
      return is_listed(file) && file.starts_with("model");
    });
    if (is_found || !files.contains(kIndex)) return;
    return context.report(kIndex,
                          "names no file model*.safetensors, and the converter reads no other");
  }
  if (context.is(Program::kTransformers)) {
    const auto other = std::ranges::find_if(files, [&](const std::string& file) {
      return is_listed(file) && file != "model.safetensors";
    });
    if (other == files.end() || !files.contains("model.safetensors")) return;
    return context.tell(kIndex, "names '{}'; transformers reads model.safetensors alone", *other);
  }
  for (const std::string& file : files) {
    if (file == kIndex || is_listed(file)) continue;
    return context.tell(kIndex, "names '{}'; servers read *.safetensors of the folder itself",
                        file);
  }
}

void check_documents(const CheckContext& context) {
  for (const auto& [path, why] : context.on.broken) {
    if (path == "config.json" || path.starts_with("tokenizer")) continue;  // C01, T01
    context.report(path, why);
  }
}

void check_keys_set_twice(const CheckContext& context) {
  for (const auto& [path, fault] : context.on.set_twice) context.report(path, fault);
}

void check_generation(const CheckContext& context) {
  const JsonValue& json = context.on.generation_config;
  if (is_truthy(known(json, "do_sample"))) return;
  for (const std::string_view key : {"top_k", "top_p", "temperature"}) {
    const JsonValue* value = known(json, key);
    if (value == nullptr || (key != "top_k" && number(*value) == 1.0)) continue;
    return context.report(fmt::format("generation_config.json: {}", key),
                          "set while do_sample is false");
  }
}

// Lists the checks whose findings come from a newer program: "C02, T02 and T03".
std::string checks_of_newer_writers(const CheckContext& context) {
  const JsonValue& tokenizer = context.on.tokenizer_config;
  const std::string* name = text_of(tokenizer, "tokenizer_class");
  const JsonValue* extra = known(tokenizer, "extra_special_tokens");
  std::vector<std::string> out;
  if (!context.on.model_type.empty() && !knows_model_type(context.profile, context.on.model_type)) {
    out.push_back("C02");
  }
  if (name != nullptr && !knows_tokenizer_class(context.profile, *name)) out.push_back("T02");
  if (extra != nullptr && extra->is_array()) out.push_back("T03");
  if (out.size() < 2) return fmt::format("{}", fmt::join(out, ""));
  const std::string last = std::move(out.back());
  out.pop_back();
  return fmt::format("{} and {}", fmt::join(out, ", "), last);
}

void check_newer(const CheckContext& context) {
  const std::string* version = text_of(context.on.config, "transformers_version");
  if (version == nullptr || !version->starts_with("5.")) return;
  std::optional<Fix> fix;
  if (const std::string checks = checks_of_newer_writers(context); !checks.empty()) {
    fix = advised(fmt::format(
        "see {}, which this explains; do not upgrade transformers inside the server's image",
        checks));
  }
  context.report("config.json: transformers_version",
                 fmt::format("written by transformers {}, read with 4.57", *version), {}, {},
                 std::move(fix));
}

void check_trainer(const CheckContext& context) {
  if (!context.on.has_document("modelopt_state.pth")) return;
  context.report("modelopt_state.pth", "a trainer's record of its quantizers");
}

// A program uses its own class, unless it must trust the folder's code.
void check_code(const CheckContext& context) {
  const Checkpoint& checkpoint = context.on.checkpoint;
  if (!checkpoint.code_files) return;
  const std::set<std::string> found(checkpoint.code_files->begin(), checkpoint.code_files->end());
  std::map<std::string, std::vector<std::string>> missing;  // names by document
  for (const NamedFile& file : named_code(checkpoint)) {
    const bool is_below = file.path.find('/') != file.path.npos;
    if (is_below || found.contains(file.path)) continue;
    missing[file.document].push_back(file.path);
  }
  for (const auto& [document, paths] : missing) {
    context.report(
        fmt::format("{}: {}", document, document == "modules.json" ? "type" : "auto_map"),
        fmt::format("names code that is not in the folder: {}",
                    printable(fmt::format("{}", fmt::join(paths, ", ")))),
        needs_own_code(context.on, context.profile, document) ? std::optional(Severity::kUnloaded)
                                                              : std::nullopt);
  }
}

void check_preferred(const CheckContext& context) {
  const std::string* other = preferred_weights(context.on, context.profile);
  if (other != nullptr) context.report(*other, "which this program reads instead of the others");
}

void check_layout(const CheckContext& context) {
  const std::string& layout = context.on.checkpoint.layout;
  if (layout.empty()) return;
  context.report("the folder", fmt::format("{}, which only trainers read", layout));
}

constexpr Check kFileChecks[] = {
    {"F10", "weights are in files that servers read", "U: all",
     "no file named model.safetensors; no weights found", "ckpt convert IN OUT", check_layout},
    {"W06", "safetensors files say format pt", "W: vllm* sglang tensorrt-llm transformers*",
     "metadata error in older readers", "ckpt convert IN OUT", check_format},
    {"W14", "the index of shards has metadata", "U: transformers*",
     "KeyError: 'metadata'; no file named model.safetensors", "ckpt convert IN OUT", check_index},
    {"W15", "the index names files that the program lists",
     "U: vllm* llama.cpp, S: sglang transformers*",
     "FileNotFoundError: Weight files referenced in index but missing; weights that are not read",
     "ckpt convert IN OUT --shard-size 5GB", check_listed_files},
    {"W17", "the program reads the weights that were checked", "W: vllm* transformers*",
     "KeyError, or other weights than expected",
     "move this file out of the folder, or check it alone", check_preferred},
    {"F00", "documents are JSON", "S: vllm* sglang tensorrt-llm transformers*, W: llama.cpp",
     "JSON errors", "copy the file from the source model", check_documents},
    {"F08", "documents set each key once", "W: all", "the last value counts; ckpt refuses it",
     "remove one of the two values", check_keys_set_twice},
    {"F03", "generation_config.json is valid", "W: vllm* sglang transformers*",
     "errors when it is saved; sampling that is ignored", "", check_generation, "serving-config"},
    {"F04", "the writer is not newer than the reader", "I: vllm-tf4 transformers-4", "", "",
     check_newer},
    {"F09", "code that documents name is there", "W: vllm* sglang transformers*",
     "with --trust-remote-code: does not appear to have a file named ...",
     "copy these files from the source model, after reading them", check_code},
    {"F06", "no state of a training", "I: vllm* sglang", "", "not needed for serving",
     check_trainer},
};

}  // namespace

// From vLLM 0.17 and 0.32 model_loader/default_loader.py (load_format auto); transformers 5.17
// src/transformers/modeling_utils.py (_get_resolved_checkpoint_files).
const std::string* preferred_weights(const Subject& on, const Profile& profile) {
  const bool is_vllm = profile.program == Program::kVllm;
  if (!is_vllm && profile.program != Program::kTransformers) return nullptr;
  const std::vector<std::string>& names = on.checkpoint.other_weights;
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return name.starts_with("consolidated") == is_vllm; });
  return found == names.end() ? nullptr : &*found;
}

std::span<const Check> file_checks() { return kFileChecks; }

}  // namespace ckpt
