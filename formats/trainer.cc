#include "formats/trainer.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "core/base/counted.h"
#include "core/base/glob.h"
#include "core/base/numbers.h"
#include "core/base/printable.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/model/document_names.h"
#include "formats/formats.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"

namespace ckpt {

extern const TrainerLayout kMegatron, kMegatronRanks, kDcp, kHfDcp, kFsdpRanks, kDeepSpeed;

namespace {

namespace fs = std::filesystem;

using TrainerNames = std::vector<std::string>;

// For damaged checkpoints, unless the layout gives better advice.
constexpr const char* kCopyOrSaveAgain = "copying the checkpoint again, or saving it again";

// Layouts in the order in which they are asked. Megatron comes before DCP, whose index it has.
constexpr const TrainerLayout* kTrainerLayouts[] = {&kMegatron, &kMegatronRanks, &kDcp,
                                                    &kHfDcp,    &kFsdpRanks,     &kDeepSpeed};

// Files that name the newest of the folders next to them.
struct NewestFolder {
  std::string_view file;
  size_t digits;  // of its number, after `prefix`; 0: the file has the name itself
  std::string_view prefix;
};
constexpr NewestFolder kNewestFolders[] = {
    {"latest", 0, ""},                                         // DeepSpeed
    {"latest_universal", 0, ""},                               // DeepSpeed's ds_to_universal
    {"latest_checkpointed_iteration.txt", 7, "iter_"},         // Megatron
    {"latest_checkpointed_iteration.txt", 1, "global_step_"},  // verl
};
// Folders in a checkpoint or a run that hold the weights. accelerate writes one for each model.
constexpr std::string_view kWeightFolders[] = {"pytorch_model_fsdp_[0-9]*",
                                               "global_step[0-9]*",
                                               "iter_[0-9]*",
                                               "checkpoint-[0-9]*",
                                               "global_step_[0-9]*",
                                               "actor",
                                               "step-[0-9]*"};
// Files and folders of a run that hold no weights, next to them or in the folder around.
constexpr std::string_view kBesideWeights[] = {
    "dataloader*",      "extra_state_*",   "optim_world_size_*",
    "optimizer*",       "random_states_*", "rng_state*",
    "scaler*",          "scheduler*",      "trainer_state.json",
    "training_args.bin"};
// The number after it in the name of a folder is a step.
constexpr std::string_view kStepMarks[] = {"checkpoint-", "global_step_", "global_step",
                                           "iter_",       "step-",        "step_"};
constexpr int kMaxFolders = 2;  // RUN/checkpoint-1/global_step1
constexpr uint64_t kMaxTagBytes = 4096;

const TrainerLayout* layout_of(const TrainerNames& names) {
  const auto found = std::ranges::find_if(
      kTrainerLayouts, [&](const TrainerLayout* layout) { return layout->recognizes(names); });
  return found == std::end(kTrainerLayouts) ? nullptr : *found;
}

// A path whose parents are those of the folder: "RUN" for "RUN/".
fs::path plain_folder(const fs::path& folder) {
  return is_url(folder) ? folder : parent_of(fs::absolute(folder).lexically_normal() / "");
}

// The step that the folder, or the one around it, is named for.
std::optional<uint64_t> step_of_folder(const fs::path& folder) {
  const fs::path plain = plain_folder(folder);
  for (const fs::path& each : {plain, parent_of(plain)}) {
    const std::string name = each.filename().string();
    for (const std::string_view mark : kStepMarks) {
      const auto step = name.starts_with(mark) ? number_after_mark(name, mark) : std::nullopt;
      if (step) return step;
    }
  }
  return std::nullopt;
}

// The folder whose documents belong to the weights in `folder`.
fs::path documents_folder(const fs::path& folder) {
  const fs::path plain = plain_folder(folder);
  const fs::path around = parent_of(plain);
  for (const fs::path& each : {folder, folder / "huggingface", around, around / "huggingface",
                               parent_of(around)}) {
    if (is_there(each / "config.json", Links::kFollow).value_or(false)) return each;
  }
  return folder;
}

// Returns the folder that such a file names; nullopt: there is no such file.
Result<TrainerNames> newest_folder(const fs::path& folder, const TrainerNames& names) {
  std::optional<std::pair<std::string, std::string>> missing;  // a file, and what it names
  for (const NewestFolder& each : kNewestFolders) {
    if (std::ranges::count(names, each.file) == 0) continue;
    CKPT_ASSIGN(std::string name, read_small(folder / each.file, kMaxTagBytes));
    while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back())) != 0) {
      name.pop_back();
    }
    if (name.empty()) {
      return corrupt_hint(kCopyOrSaveAgain, "{}: empty", (folder / each.file).string());
    }
    if (each.digits != 0) name = fmt::format("{}{:0>{}}", each.prefix, name, each.digits);
    if (std::ranges::count(names, name) != 0) return TrainerNames{std::move(name)};
    if (!missing) missing = std::pair((folder / each.file).string(), name);
  }
  if (!missing) return TrainerNames();
  return corrupt_hint("copying the checkpoint again, or naming one of its folders",
                      "{}: names the folder '{}', which is missing", missing->first,
                      printable(missing->second));
}

}  // namespace

TrainerNames names_like(const TrainerNames& names, std::string_view pattern) {
  const Glob glob(pattern);
  TrainerNames out;
  std::ranges::copy_if(names, std::back_inserter(out),
                       [&](const std::string& name) { return glob.matches(name); });
  return out;
}

std::optional<uint64_t> number_after_mark(std::string_view name, std::string_view mark) {
  return number_after(name.substr(std::min(name.find(mark), name.size())), mark);
}

uint64_t count_numbers_after(const TrainerNames& names, std::string_view mark) {
  std::set<std::optional<uint64_t>> out;
  for (const std::string& name : names) out.insert(number_after_mark(name, mark));
  return out.size();
}

namespace {

Result<std::optional<FoundLayout>> find_layout(const fs::path& folder, const TrainerNames& names,
                                               int folders) {
  if (const TrainerLayout* layout = layout_of(names)) {
    return std::optional(FoundLayout{layout, folder});
  }
  CKPT_ASSIGN(TrainerNames inner, newest_folder(folder, names));
  for (const std::string_view pattern : kWeightFolders) {
    if (inner.empty()) inner = names_like(names, pattern);
  }
  std::vector<FoundLayout> found;
  for (const std::string& name : inner) {
    if (!is_folder(folder / name)) continue;
    CKPT_ASSIGN(const TrainerNames files, list_files(folder / name));
    if (folders == 0) continue;
    CKPT_ASSIGN(const auto one, find_layout(folder / name, files, folders - 1));
    if (one) found.push_back(*one);
  }
  if (found.size() > 1) {
    return unsupported_hint(shell_path(found.back().folder.string()),
                            "weights in {} folders, such as '{}'; expected one that is named",
                            found.size(), found.back().folder.filename().string());
  }
  return found.empty() ? std::optional<FoundLayout>() : std::optional(found[0]);
}

// Lists such files by their names without numbers: "rng_state_*.pth".
TrainerNames files_beside_weights(const fs::path& folder) {
  std::set<std::string> out;
  for (const fs::path& each : {folder, parent_of(plain_folder(folder))}) {
    const TrainerNames names = list_files(each).value_or(TrainerNames());
    for (const std::string_view pattern : kBesideWeights) {
      for (const std::string& name : names_like(names, pattern)) {
        const size_t first = name.find_first_of("0123456789");
        const size_t last = name.find_last_of("0123456789");
        out.insert(first == name.npos ? name : name.substr(0, first) + "*" + name.substr(last + 1));
      }
    }
  }
  return {out.begin(), out.end()};
}

// Names the files of a model that are not there: servers need them, and --base brings them.
void name_missing(const std::string& without_config, Checkpoint& out) {
  TrainerNames missing;
  if (out.find_document("config.json") == nullptr) {
    missing.push_back("config.json" +
                      (without_config.empty() ? "" : fmt::format(" ({})", without_config)));
  }
  const bool has_vocabulary = std::ranges::any_of(out.documents, [](const Document& document) {
    return is_document_of(DocumentKind::kVocabulary, document.path);
  });
  if (!has_vocabulary) missing.emplace_back("a tokenizer");
  if (missing.empty()) return;
  out.not_read.push_back(fmt::format("{} (missing; --base MODEL)", fmt::join(missing, " and ")));
}

}  // namespace

Result<std::optional<FoundLayout>> find_trainer_layout(const fs::path& folder,
                                                       const TrainerNames& names) {
  return find_layout(folder, names, kMaxFolders);
}

Failure no_masters(std::string_view what) {
  return unsupported_hint("the same command without --weights master",
                          "{}: no F32 masters next to the weights; expected them for --weights "
                          "master", what);
}

Result<Checkpoint> read_trainer(const FoundLayout& found, Codecs codecs,
                                const ReadOptions& options) {
  Checkpoint out;
  CKPT_ASSIGN(out.documents, read_documents(documents_folder(found.folder), options));
  std::vector<Document> of_model = out.documents;
  if (out.find_document("config.json") == nullptr && !options.base.empty()) {
    of_model = read_documents(options.base, options).value_or(std::move(of_model));
  }
  CKPT_ASSIGN(const TrainerNames names, list_files(found.folder));
  if (options.weights == WeightValues::kMaster && !found.layout->has_masters) {
    return no_masters(found.layout->name);
  }
  auto read =
      found.layout->read({found.folder, names, of_model, codecs, options.weights, options.checks});
  if (!read) {
    const bool is_damaged = read.error().code == ErrorCode::kCorrupt;
    if (is_damaged && read.error().hint.empty()) read.error().hint = kCopyOrSaveAgain;
    return Failure(std::move(read.error()));
  }
  TrainerWeights& weights = *read;
  if (weights.tensors.empty()) {
    return unsupported("{} without weights; it holds {}", found.layout->name,
                       fmt::join(weights.not_read, ", "));
  }
  out.format = kSafetensors.name;
  out.layout = weights.values.empty() ? std::string(found.layout->name)
                                      : fmt::format("{}: {}", found.layout->name, weights.values);
  if (!weights.config.empty()) out.set_document("config.json", std::move(weights.config));
  if (!weights.step) weights.step = step_of_folder(found.folder);
  if (weights.step) out.layout += fmt::format(", step {}", *weights.step);
  if (weights.ranks != 0) out.layout += fmt::format(", {}", counted(weights.ranks, "rank"));
  out.not_read = std::move(weights.not_read);
  std::ranges::move(files_beside_weights(found.folder), std::back_inserter(out.not_read));
  const bool can_complete = options.base.empty() && options.checks == nullptr;
  if (can_complete) name_missing(weights.without_config, out);
  CKPT_SET(out.tensors, as_saved(std::move(weights.tensors), of_model));
  return out;
}

}  // namespace ckpt
