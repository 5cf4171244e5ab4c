#include "transforms/vl/preprocessor.h"

#include <algorithm>

#include "core/base/find.h"
#include "core/json/json_path.h"
#include "core/model/json_documents.h"
#include "core/model/transform.h"
#include "transforms/vl/config.h"

namespace ckpt {
namespace {

constexpr OptionRule kPreprocessorOptions[] = {
    option::path("base", "DIR", "the same as from"),
    option::path("from", "DIR",
                 "the folder to take the files from; those usual for the model when absent"),
};

// A processor file, its object inside processor_config.json, the family's usual file, and the
// member that names its class.
struct ProcessorFile {
  std::string_view path, nested_key, usual, class_key;
  std::span<const VlSize> sizes;
};

std::vector<ProcessorFile> files_of(const VlFamily& family) {
  const std::span<const VlSize> sizes = family.preprocessor_sizes;
  return {
      {kProcessorFiles[0], "image_processor", family.preprocessor, "image_processor_type", sizes},
      {kProcessorFiles[1], "video_processor", family.video_preprocessor, "video_processor_type",
       sizes},
      {kProcessorFiles[2], "", family.processor, "processor_class", family.processor_sizes}};
}

// The number in vision_config that must equal one in a processor file.
std::optional<uint64_t> vision_size(const JsonText& config, const VlSize& size) {
  const JsonText* vision = config.find("vision_config");
  return vision == nullptr ? std::nullopt : vision->find_whole(size.vision_key);
}

JsonText usual_file(const ProcessorFile& file, const JsonText& config) {
  JsonText out = parse_own(file.usual);
  for (const VlSize& size : file.sizes) {
    const auto value = vision_size(config, size);
    auto* at = const_cast<JsonText*>(find_at(out, json_path(size.at)));
    if (value && at != nullptr) *at = JsonText::number(*value);
  }
  return out;
}

Status check_sizes(const Document& document, const ProcessorFile& file, const JsonText& config) {
  CKPT_ASSIGN(const auto root, document.tree());
  for (const VlSize& size : file.sizes) {
    // The largest image size is a choice, not a property of the tower.
    if (size.at == "size.longest_edge") continue;
    const JsonText* at = find_at(*root, json_path(size.at));
    const auto theirs = at == nullptr ? std::nullopt : at->as_whole();
    const auto ours = vision_size(config, size);
    if (!theirs || !ours || *theirs == *ours) continue;
    return misuse("{}: {} {}; the model's vision_config has {} {}", document.path, size.at, *theirs,
                  size.vision_key, *ours);
  }
  return {};
}

// The object `file.nested_key` of processor_config.json as a separate file; null if there is none.
Result<std::optional<JsonText>> lifted(const Document* processor, const ProcessorFile& file) {
  if (processor == nullptr || file.nested_key.empty()) return std::optional<JsonText>();
  CKPT_ASSIGN(const auto root, processor->tree());
  const JsonText* nested = root->find(file.nested_key);
  if (nested == nullptr || !nested->is_object()) return std::optional<JsonText>();
  JsonText out = *nested;
  const JsonText* name = root->find("processor_class");
  if (name != nullptr && out.find("processor_class") == nullptr) {
    out.set_sorted("processor_class", *name);
  }
  return std::optional(std::move(out));
}

void put(Checkpoint& checkpoint, std::string_view path, const JsonText& root) {
  checkpoint.set_document(std::string(path), root.dump(2) + "\n");
}

// Takes the file from another folder if it exists there.
Status take(Checkpoint& checkpoint, const ProcessorFile& file, const JsonText& config,
            const std::vector<Document>& others) {
  std::optional<Document> found;
  if (const Document* document = find_by(others, &Document::path, file.path)) {
    found = *document;
  } else {
    const Document* processor = find_by(others, &Document::path, kProcessorFiles[2]);
    CKPT_ASSIGN(const auto nested, lifted(processor, file));
    if (!nested) return {};
    found.emplace(std::string(file.path), nested->dump(2) + "\n");
  }
  CKPT_TRY(check_sizes(*found, file, config));
  checkpoint.set_document(std::move(*found));
  return {};
}

// transformers 5.15 and 5.16 cannot infer a class for qwen3_5 and qwen3_vl.
Status name_class(Checkpoint& checkpoint, const ProcessorFile& file) {
  if (file.usual.empty() || file.class_key != "image_processor_type") return {};
  CKPT_ASSIGN(std::optional<JsonDocument> document, read_json(checkpoint, file.path));
  if (!document || document->root.find(file.class_key) != nullptr ||
      document->root.find("feature_extractor_type") != nullptr) {
    return {};
  }
  document->root.set(file.class_key, *parse_own(file.usual).find(file.class_key));
  write_json(checkpoint, file.path, *document);
  return {};
}

Status complete(Checkpoint& checkpoint, const ProcessorFile& file, const JsonText& config) {
  if (checkpoint.find_document(file.path) == nullptr) {
    CKPT_ASSIGN(const auto nested, lifted(checkpoint.find_document(kProcessorFiles[2]), file));
    if (nested) {
      put(checkpoint, file.path, *nested);
    } else if (!file.usual.empty()) {
      put(checkpoint, file.path, usual_file(file, config));
    }
  }
  return name_class(checkpoint, file);
}

}  // namespace

Status complete_processors(Checkpoint& checkpoint, const VlFamily& family, const JsonText& config,
                           const std::vector<Document>* others, bool replaces) {
  for (const ProcessorFile& file : files_of(family)) {
    const bool is_there = checkpoint.find_document(file.path) != nullptr;
    if (others != nullptr && (replaces || !is_there)) {
      CKPT_TRY(take(checkpoint, file, config, *others));
    }
    CKPT_TRY(complete(checkpoint, file, config));
  }
  return {};
}

namespace {

Result<Checkpoint> apply_preprocessor(Checkpoint checkpoint, const OptionValues& options,
                                      const Context& context) {
  CKPT_ASSIGN(const std::optional<JsonDocument> config, read_json(checkpoint, "config.json"));
  if (!config) return misuse("no config.json; expected a Hugging Face folder");
  auto model = identify_vl_wrapper(config->root);
  if (!model) {
    if (model.error().code == ErrorCode::kUsage) model.error().hint = "vl-wrap first";
    return Failure(std::move(model.error()));
  }
  const auto from = options.find(options.has("from") ? "from" : "base");
  std::vector<Document> others;
  if (from) {
    CKPT_ASSIGN(others, in(*from, context.documents(*from)));
    if (std::ranges::none_of(others, is_processor_file)) {
      return misuse("{}: neither preprocessor_config.json nor {} in this folder", *from,
                    kProcessorFiles[2]);
    }
  }
  auto done =
      complete_processors(checkpoint, *model->family, config->root, from ? &others : nullptr, true);
  if (done && checkpoint.find_document(kProcessorFiles[0]) == nullptr) {
    return unsupported_hint("--step preprocessor:from=DIR, a folder that has them",
                            "no {} is known for a {}", kProcessorFiles[0],
                            model->family->model_type);
  }
  if (!done) return Failure(from ? std::move(done.error()).in(*from) : std::move(done.error()));
  return checkpoint;
}

}  // namespace

extern constinit const Transform kPreprocessor = {
    "preprocessor",
    "write the image and video processor files that servers require for vision-language classes",
    kPreprocessorOptions, apply_preprocessor, ChangeScope::kDocuments};

}  // namespace ckpt
