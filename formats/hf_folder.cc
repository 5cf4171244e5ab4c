// The safetensors format: one file, or a Hugging Face folder. Which files of the folder hold the
// weights, and what else belongs to the model:
//
//   model.safetensors.index.json   names the files, if it is there
//   model*.safetensors             the weights, one file or numbered shards
//   pytorch_model*.bin             the weights if safetensors are missing (torch.h)
//   config.json, tokenizer.json    documents (hf_documents.cc)
//   optimizer.pt, rng_state.pth, scheduler.pt, trainer_state.json, global_step*/   not ours
//
// A reader gets wrong: files of a snapshot in the hub's cache are links to blobs with other names;
// leftovers of an earlier save are next to the weights, and it is unclear which are meant.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <ranges>
#include <set>

#include "core/base/glob.h"
#include "core/base/numbered_name.h"
#include "core/base/printable.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "core/io/paths.h"
#include "core/io/remote_files.h"
#include "core/model/transform.h"
#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "formats/sniff.h"
#include "formats/torch.h"
#include "formats/trainer.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

}  // namespace

Result<Names> list_files(const fs::path& folder) {
  if (is_url(folder)) return names_at_url(folder);
  Names names;
  std::error_code error;
  fs::directory_iterator entries(folder, error), end;
  for (; !error && entries != end; entries.increment(error)) {
    names.push_back(entries->path().filename().string());
  }
  if (error) return io_failure(folder, "cannot be listed", error.value());
  std::ranges::sort(names);
  return names;
}

namespace {

Names matching(const Names& names, std::string_view pattern) {
  const Glob glob(pattern);
  Names out;
  std::ranges::copy_if(names, std::back_inserter(out),
                       [&](const std::string& name) { return glob.matches(name); });
  return out;
}

bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Weights of PyTorch count where there are none of safetensors.
bool has_torch_weights(const Names& names) {
  return !contains(names, kIndexName) && matching(names, "*.safetensors").empty() &&
         std::ranges::any_of(names, is_torch_weights);
}

// "model-00001-of-00003.safetensors" -> 3; 0 for other names.
uint64_t shard_count(const std::string& file) {
  const std::string name = is_torch_weights(file) ? torch_file_as_safetensors(file) : file;
  static const Glob kPattern(
      "*-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9].safetensors");
  if (!kPattern.matches(name)) return 0;
  return std::stoull(name.substr(name.size() - kSafetensorsEnding.size() - 5, 5));
}

// Without an index, numbered shards must be there from 1 to their count, of one saving.
Status check_numbered(const Names& shards) {
  std::set<uint64_t> counts;
  uint64_t found = 0;
  for (const std::string& name : shards) {
    if (const uint64_t count = shard_count(name)) {
      counts.insert(count);
      ++found;
    }
  }
  if (counts.empty()) return {};
  if (counts.size() > 1) {
    return corrupt_hint("removing the files of the older saving",
                        "numbered shards of {} and of {} files lie side by side", *counts.begin(),
                        *counts.rbegin());
  }
  if (found != *counts.begin()) {
    return corrupt_hint("downloading the missing ones",
                        "{} of the numbered shards are there; their names say {}", found,
                        *counts.begin());
  }
  return {};
}

// Leaves out adapters, the optimizer's state and what else is not the model, unless that is all
// there is.
Names of_the_model(Names files) {
  static const GlobList kOther(
      {"adapter_model*", "optimizer*", "scheduler*", "consolidated*", "rng_state*", "ema_*",
       "training_args*"});
  const auto is_other = [](const std::string& name) { return kOther.matches_any(name); };
  if (!std::ranges::all_of(files, is_other)) std::erase_if(files, is_other);
  return files;
}

// The subfolders that hold weights, such as the checkpoints of a training run, in the order of the
// numbers in their names.
Names subfolders_with_weights(const fs::path& folder, const Names& names) {
  Names out;
  for (const std::string& name : names) {
    if (is_url(folder) || !is_folder(folder / name)) continue;
    const Names inside = list_files(folder / name).value_or(Names());
    const auto layout = find_trainer_layout(folder / name, inside);
    const bool has_weights = contains(inside, kIndexName) || has_torch_weights(inside) ||
                             !of_the_model(matching(inside, "*.safetensors")).empty() ||
                             !matching(inside, "*.gguf").empty() || (layout && *layout);
    if (has_weights) out.push_back(name);
  }
  const auto digits = [](const std::string& name) {
    return name.size() - 1 - std::min(name.size() - 1, name.find_last_not_of("0123456789"));
  };
  std::ranges::stable_sort(out, [&](const std::string& a, const std::string& b) {
    return digits(a) != digits(b) ? digits(a) < digits(b) : a < b;
  });
  return out;
}

Status no_weights(const fs::path& folder, const Names& names) {
  constexpr std::string_view kExpected = "expected *.safetensors or pytorch_model*.bin";
  if (names.empty()) return unsupported("an empty folder; {}", kExpected);
  if (Status parts = refuse_partial(names, PartialBy::kFolder); !parts) {
    return Failure(std::move(parts.error()));
  }
  const Names gguf = matching(names, "*.gguf");
  if (!gguf.empty()) {
    return unsupported_hint(shell_path((folder / gguf.front()).string()),
                            "a folder with the GGUF file '{}' in it; {}", gguf.front(), kExpected);
  }
  for (const std::string_view pattern : {"*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack"}) {
    const Names other = of_the_model(matching(names, pattern));
    if (other.empty()) continue;
    return unsupported_hint(pattern == "*.h5" || pattern == "*.msgpack"
                                ? "converting it to safetensors with transformers' save_pretrained"
                                : shell_path((folder / other.front()).string()),
                            "a folder with '{}', which is not read unless it is named; {}",
                            other.front(), kExpected);
  }
  for (const std::string& name : names) CKPT_TRY(refuse_piece(folder / name));
  if (contains(names, "snapshots") && contains(names, "refs")) {
    const auto snapshots = list_files(folder / "snapshots");
    if (snapshots && !snapshots->empty()) {
      return misuse_hint(shell_path((folder / "snapshots" / snapshots->front()).string()),
                         "the hub's cache of a model; {}", kExpected);
    }
  }
  if (const Names inside = subfolders_with_weights(folder, names); !inside.empty()) {
    const std::string more =
        inside.size() == 1 ? "" : fmt::format(", and in {} more", inside.size() - 1);
    return unsupported_hint(shell_path((folder / inside.back()).string()),
                            "the weights are in the subfolder '{}'{}; {}", inside.back(), more,
                            kExpected);
  }
  const bool is_tokenizer = contains(names, "tokenizer.json") && !contains(names, "config.json");
  return unsupported_hint(
      is_tokenizer ? "ckpt convert MODEL OUT --tokenizer " + shell_path(folder.string())
                   : "hf download ORG/NAME --local-dir " + shell_path(folder.string()),
      "a folder of {} files without weights; {}", names.size(), kExpected);
}

constexpr std::string_view kAdapterName = "adapter_model.safetensors";

// An adapter is its own two files, whatever lies next to them.
bool is_adapter(const Names& names) {
  return contains(names, "adapter_config.json") && contains(names, kAdapterName) &&
         !contains(names, "config.json");
}

// The files of one saving, if the folder holds several: the single file, which transformers reads
// before any shards, or else a complete set of shards.
Names of_one_saving(Names shards, std::string_view single) {
  if (contains(shards, single)) return {std::string(single)};
  std::map<uint64_t, uint64_t> found;  // files, by the count in their names
  for (const std::string& name : shards) ++found[shard_count(name)];
  found.erase(0);
  const auto whole =
      std::ranges::find_if(found, [](const auto& saving) { return saving.first == saving.second; });
  if (found.size() < 2 || whole == found.end()) return shards;
  std::erase_if(shards, [&](const std::string& name) {
    return shard_count(name) != 0 && shard_count(name) != whole->first;
  });
  return shards;
}

// Whether the file has the model in another precision, as in model.fp16.safetensors on the hub.
bool is_variant(const std::string& name) {
  return name != kSingleName && name.starts_with("model.");
}

Result<Names> find_shards(const fs::path& folder, const Names& names) {
  const bool is_torch = has_torch_weights(names);
  if (!is_torch && is_adapter(names)) return Names{std::string(kAdapterName)};
  Names shards;
  if (is_torch) {
    std::ranges::copy_if(names, std::back_inserter(shards), is_torch_weights);
    shards = of_the_model(std::move(shards));  // not an adapter, if there is more
  } else {
    shards = matching(names, "model*.safetensors");
    if (!std::ranges::all_of(shards, is_variant)) std::erase_if(shards, is_variant);
    if (shards.empty()) shards = of_the_model(matching(names, "*.safetensors"));
    if (shards.empty()) CKPT_TRY(no_weights(folder, names));
  }
  shards = of_one_saving(std::move(shards), is_torch ? kTorchSingleName : kSingleName);
  if (!is_torch) CKPT_TRY(refuse_partial(shards, PartialBy::kFile));
  CKPT_TRY(check_numbered(shards));
  return shards;
}

Result<SafetensorsHeader> read_header(const SharedSource& source, bool is_torch, Codecs codecs,
                                      WeightChecks* checks) {
  CKPT_ASSIGN(SafetensorsHeader header,
              is_torch ? in_file(source->name(), read_torch_header(source, checks))
                       : read_safetensors_header(source, codecs));
  Names content;
  for (const auto& entry : header.metadata.entries) content.push_back(entry.key);
  for (const SafetensorsEntry& entry : header.entries) {
    const bool is_placeholder = entry.shape == std::vector<uint64_t>{0};  // of ZeRO-3
    content.push_back(entry.name + (is_placeholder ? " of shape [0]" : ""));
  }
  CKPT_TRY(in_file(source->name(), refuse_partial(content, PartialBy::kContent)));
  return header;
}

Result<std::vector<SafetensorsFile>> read_shards(const fs::path& folder, const Names& shards,
                                                 Codecs codecs, WeightChecks* checks) {
  std::vector<SafetensorsFile> files;
  files.reserve(shards.size());
  for (const std::string& name : shards) {
    CKPT_ASSIGN(SharedSource source, open_file(folder / name));
    CKPT_ASSIGN(SafetensorsHeader header,
                read_header(source, is_torch_weights(name), codecs, checks));
    files.push_back({name, std::move(source), std::move(header)});
  }
  return files;
}

std::string_view index_name(const Names& names) {
  return has_torch_weights(names) ? kTorchIndexName : kIndexName;
}

Result<SafetensorsIndex> read_index(const fs::path& folder, std::string_view name,
                                    const ReadOptions& options) {
  CKPT_ASSIGN(const SharedSource source, open_document(folder, std::string(name), options));
  const auto read = [&]() -> Result<SafetensorsIndex> {
    CKPT_TRY(refuse_other_files(*source, "an index in JSON"));
    CKPT_ASSIGN(const std::string text, read_text(*source, kMaxIndexBytes));
    return parse_index(text);
  };
  auto index = in(source->name(), read());
  const bool is_other = is_url(folder) || name != kIndexName;
  if (index || is_other || index.error().code != ErrorCode::kCorrupt) return index;
  if (index.error().hint.empty()) {
    index.error().hint = fmt::format("rm {}, then ckpt patch {} --step reindex",
                                     shell_path(source->name()), shell_path(folder.string()));
  }
  return index;
}

// The files of a folder that hold weights, by name.
struct ChosenFiles {
  Names files;   // are read
  Names others;  // also hold weights, and are compared with those that are read
  Names absent;  // the index names them, and the folder does not have them
  std::optional<SafetensorsIndex> index;
};

// The rule is transformers': the index decides; without one model.safetensors comes first.
Result<ChosenFiles> choose_files(const fs::path& folder, const Names& names,
                                 const ReadOptions& options) {
  ChosenFiles out;
  if (contains(names, index_name(names))) {
    CKPT_ASSIGN(out.index, read_index(folder, index_name(names), options));
    std::set<std::string> named;
    for (const auto& [tensor, file] : out.index->weight_map) named.insert(file);
    for (const std::string& file : named) {
      CKPT_ASSIGN(const bool exists, is_there(folder / file, Links::kFollow));
      (exists ? out.files : out.absent).push_back(file);
    }
  } else {
    CKPT_ASSIGN(out.files, find_shards(folder, names));
    if (is_adapter(names)) return out;
  }
  if (has_torch_weights(names)) {
    std::ranges::copy_if(names, std::back_inserter(out.others), is_torch_weights);
    out.others = of_the_model(std::move(out.others));
  } else {
    out.others = of_the_model(matching(names, "*.safetensors"));
  }
  std::erase_if(out.others, [&](const std::string& name) { return contains(out.files, name); });
  return out;
}

// The headers of files that are passed over. A file that cannot be parsed has an empty header.
Result<std::vector<SafetensorsFile>> read_others(const fs::path& folder, const Names& names,
                                                 Codecs codecs) {
  std::vector<SafetensorsFile> out;
  for (const std::string& name : names) {
    auto files = read_shards(folder, {name}, codecs, nullptr);
    if (!files && files.error().code == ErrorCode::kIo) return Failure(files.error());
    out.push_back(files ? std::move(files->front()) : SafetensorsFile{name, nullptr, {}});
  }
  return out;
}

Result<WeightFiles> read_weights(const fs::path& folder, const Names& names, Codecs codecs,
                                 const ReadOptions& options) {
  CKPT_ASSIGN(ChosenFiles chosen, choose_files(folder, names, options));
  WeightFiles out;
  out.index_name = index_name(names);
  out.index = std::move(chosen.index);
  out.absent = std::move(chosen.absent);
  CKPT_ASSIGN(out.files, read_shards(folder, chosen.files, codecs, options.checks));
  CKPT_ASSIGN(out.others, read_others(folder, chosen.others, codecs));
  CKPT_TRY(settle_files(folder, out));
  if (out.files.empty() && out.misfit.lacks_file) return Failure(out.misfit.error());
  return out;
}

// The last folder; "name" for hf://org/name@revision.
std::string name_of_url(const fs::path& folder) {
  const fs::path last = folder.has_filename() ? folder : folder.parent_path();
  const std::string name = last.filename().string();
  return name.substr(0, name.find('@'));
}

// The folder's name as it was typed, a link's too; for .../models--Org--Name/snapshots/HASH the
// model's.
std::string name_of(const fs::path& folder) {
  if (is_url(folder)) return name_of_url(folder);
  std::error_code error;
  // ".." after a link leads elsewhere than the text of the path suggests.
  const bool goes_up = std::ranges::find(folder, "..") != folder.end();
  fs::path path = goes_up ? fs::weakly_canonical(folder, error)
                          : fs::absolute(folder, error).lexically_normal();
  if (error) path = folder.lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string repository = path.parent_path().parent_path().filename().string();
  if (path.parent_path().filename() == "snapshots" && repository.starts_with("models--")) {
    const size_t at = repository.rfind("--");
    return repository.substr(at + 2);
  }
  return path.filename().string();
}

// Files of a model count where a trainer's are next to them.
Result<std::optional<FoundLayout>> trainer_layout(const fs::path& folder, const Names& names) {
  if (contains(names, kIndexName) || has_torch_weights(names) ||
      !matching(names, "model*.safetensors").empty()) {
    return std::optional<FoundLayout>();
  }
  return find_trainer_layout(folder, names);
}

Result<Checkpoint> read_folder(const fs::path& folder, Codecs codecs, const ReadOptions& options,
                               FileMisfit& misfit) {
  CKPT_ASSIGN(const Names names, list_files(folder));
  CKPT_ASSIGN(const auto found, trainer_layout(folder, names));
  if (found) {
    CKPT_ASSIGN(Checkpoint trained, read_trainer(*found, codecs, options));
    trained.name = name_of(folder);
    return trained;
  }
  Checkpoint checkpoint;
  CKPT_ASSIGN(WeightFiles read, read_weights(folder, names, codecs, options));
  if (read.index && read.index->has_metadata) {
    checkpoint.file_metadata[std::string(kIndexName)] = std::move(read.index->metadata);
  }
  misfit = std::move(read.misfit);
  std::vector<SafetensorsFile>& files = read.files;
  for (SafetensorsFile& file : files) {
    if (is_torch_weights(file.path)) file.path = torch_file_as_safetensors(file.path);
  }
  CKPT_ASSIGN(checkpoint.tensors, assemble_tensors(files, read.entries, codecs));
  checkpoint.format = kSafetensors.name;
  checkpoint.name = name_of(folder);
  for (SafetensorsFile& file : files) {
    checkpoint.file_metadata[file.path] = std::move(file.header.metadata);
  }
  CKPT_ASSIGN(checkpoint.documents, read_documents(folder, options));
  checkpoint.other_weights = matching(names, "consolidated*.safetensors");
  if (misfit.has_conflict && contains(names, kSingleName)) {
    checkpoint.other_weights.emplace_back(kSingleName);
  }
  std::erase_if(checkpoint.other_weights,
                [&](const std::string& name) { return checkpoint.file_metadata.contains(name); });
  // Not every server lists its files.
  if (!is_url(folder)) checkpoint.code_files = matching(names, "*.py");
  return checkpoint;
}

// A name, or a header that starts as one does: length, then '{'.
bool is_safetensors_file(const fs::path& path) {
  if (has_ending(path.native(), kSafetensorsEnding)) return true;
  const auto source = open_file(path);
  if (!source || (*source)->size_bytes() < 9) return false;
  std::array<std::byte, 9> head{};
  if (!(*source)->read(0, head)) return false;
  uint64_t length = 0;
  std::memcpy(&length, head.data(), sizeof(length));
  return head[8] == std::byte{'{'} && length <= kMaxSafetensorsHeaderBytes &&
         length <= (*source)->size_bytes() - 8;
}

bool is_safetensors_name(const fs::path& name) {
  return name.extension() == kSafetensorsEnding || name == kIndexName;
}

bool is_safetensors(const fs::path& path) {
  if (!is_folder(path)) return is_safetensors_file(path);
  return std::ranges::any_of(list_files(path).value_or(Names()), is_safetensors_name);
}

Result<Checkpoint> read_one_file(const fs::path& path, Codecs codecs, WeightChecks* checks) {
  CKPT_ASSIGN(SharedSource source, open_file(path));
  const bool is_torch = holds_torch_weights(path);
  CKPT_ASSIGN(SafetensorsHeader header, read_header(source, is_torch, codecs, checks));
  const std::string name = path.filename().string();
  std::vector<SafetensorsFile> files;
  files.push_back(
      {is_torch ? torch_file_as_safetensors(name) : name, std::move(source), std::move(header)});
  Checkpoint checkpoint;
  checkpoint.format = kSafetensors.name;
  checkpoint.name = path.stem().string();
  if (const auto numbered = parse_numbered(name)) checkpoint.files_by_name = numbered->count;
  CKPT_ASSIGN(const NameIndex index, index_entries(files));
  CKPT_ASSIGN(checkpoint.tensors, assemble_tensors(files, index, codecs));
  checkpoint.file_metadata[files[0].path] = std::move(files[0].header.metadata);
  return checkpoint;
}

Result<Checkpoint> read_safetensors(const fs::path& path, Codecs codecs,
                                    const ReadOptions& options) {
  FileMisfit misfit;
  return is_folder(path) ? in_file(path.string(), read_folder(path, codecs, options, misfit))
                         : read_one_file(path, codecs, options.checks);
}

}  // namespace

Status find_weights(const fs::path& folder) {
  const auto find = [&]() -> Status {
    CKPT_ASSIGN(const Names names, list_files(folder));
    if (contains(names, kIndexName)) return {};
    CKPT_ASSIGN(const auto found, trainer_layout(folder, names));
    if (found) return {};
    return find_shards(folder, names).map([](const Names&) {});
  };
  return in_file(folder.string(), find());
}

Result<std::optional<Document>> read_index_document(const fs::path& folder,
                                                    const ReadOptions& options) {
  CKPT_ASSIGN(const bool exists, is_there(folder / kIndexName, Links::kFollow));
  if (!exists) return std::optional<Document>();
  CKPT_ASSIGN(const SharedSource source, open_document(folder, std::string(kIndexName), options));
  CKPT_ASSIGN(std::string text, read_text(*source, kMaxIndexBytes));
  return std::optional(Document(std::string(kIndexName), std::move(text)));
}

Result<Document> index_of_files(const fs::path& folder, Codecs codecs, const ReadOptions& options) {
  CKPT_ASSIGN(const Names names, list_files(folder));
  if (has_torch_weights(names)) return unsupported("the weights are in a format of PyTorch");
  CKPT_ASSIGN(WeightFiles read, read_weights(folder, names, codecs, options));
  std::vector<SafetensorsFile> files = std::move(read.files);
  for (SafetensorsFile& other : read.others) {
    if (has_more(other, read.entries)) files.push_back(std::move(other));
  }
  CKPT_TRY(index_entries(files));
  uint64_t size_bytes = 0;
  std::vector<std::pair<std::string, std::string>> entries;
  for (const SafetensorsFile& file : files) {
    for (const SafetensorsEntry& entry : file.header.entries) {
      entries.emplace_back(entry.name, file.path);
      size_bytes += entry.end - entry.begin;
    }
  }
  Metadata sums;
  sums.set("total_size", {MetaType::kU64, size_bytes});
  return Document(std::string(kIndexName), render_index(sums, std::move(entries)));
}

Result<Names> files_of_weights(const fs::path& folder, const ReadOptions& options) {
  CKPT_ASSIGN(const Names names, list_files(folder));
  CKPT_ASSIGN(ChosenFiles chosen, choose_files(folder, names, options));
  Names& out = chosen.files;
  if (!chosen.index) {
    std::erase_if(out, [](const std::string& name) { return !is_checkpoint_file(name); });
    return std::move(out);
  }
  out.insert(out.end(), chosen.absent.begin(), chosen.absent.end());
  std::erase_if(out, [](const std::string& file) {
    const bool is_weights = file.ends_with(kSafetensorsEnding) || is_torch_weights(file);
    return !is_weights || file.find('/') != file.npos;
  });
  out.emplace_back(index_name(names));
  std::ranges::sort(out);
  return std::move(out);
}

void tell_repeated_keys(const fs::path& path, Checkpoint& read, FileMisfit& misfit) {
  if (read.format != kGguf.name || read.not_read.empty()) return;
  const Names twice = std::exchange(read.not_read, {});
  misfit.has_key_twice = misfit.is_fault = true;
  misfit.found =
      fmt::format("key '{}'{} comes twice; ckpt keeps the first value", twice[0],
                  twice.size() == 1 ? "" : fmt::format(" (and {} more)", twice.size() - 1));
  misfit.hint = fmt::format("ckpt convert {} OUT.gguf", shell_path(path.string()));
}

Result<Checkpoint> read_despite_misfit(const fs::path& path, Codecs codecs,
                                       const ReadOptions& options, FileMisfit& misfit) {
  if (is_folder(path)) return in_file(path.string(), read_folder(path, codecs, options, misfit));
  CKPT_ASSIGN(const Format* format, recognize(path));
  CKPT_ASSIGN(Checkpoint out, format->read(path, codecs, options));
  tell_repeated_keys(path, out, misfit);
  return out;
}

bool holds_torch_weights(const fs::path& path) {
  if (!is_folder(path)) return path.extension() != kSafetensorsEnding && is_torch_file(path);
  const auto names = list_files(path);
  return names && has_torch_weights(*names);
}

constinit const Format kSafetensors{
    .name = "safetensors",
    .help = "a Hugging Face folder, or one .safetensors file",
    .recognizes = is_safetensors,
    .read = read_safetensors,
    .lay_out = lay_out_safetensors,
};

}  // namespace ckpt
