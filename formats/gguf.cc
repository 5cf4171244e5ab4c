// The GGUF format: a model in one file, or split into several.
//
//   NAME-00001-of-00003.gguf   all keys, then split.no, split.count, split.tensors.count; tensors
//   NAME-00002-of-00003.gguf   only those three keys; tensors, with offsets in this file
//
// Pitfall for readers: split.no counts from 0, the number in the name from 1.
#include "formats/gguf.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/words.h"
#include "core/io/folder.h"
#include "core/model/name_index.h"
#include "formats/sniff.h"

namespace ckpt {
namespace {

namespace fs = std::filesystem;

bool is_gguf(const fs::path& path) {
  if (is_folder(path)) return false;
  const auto source = open_file(path);
  if (!source) return has_ending(path.native(), ".gguf");
  const auto magic = bytes_at(**source, 0, kGgufMagic.size());
  return magic && (*magic == kGgufMagic || has_ending(path.native(), ".gguf"));
}

// The number of files of the model with these keys; 1 if it is not split.
uint64_t split_count(const Metadata& metadata) {
  const auto count = metadata.find_unsigned(kSplitCountKey);
  return count && *count > 1 ? *count : 1;
}

Status check_part(const GgufFile& part, uint64_t no, uint64_t count) {
  const auto found_no = part.metadata.find_unsigned(kSplitNoKey);
  const auto found_count = part.metadata.find_unsigned(kSplitCountKey);
  if (found_no == no && found_count == count) return {};
  if (!found_no || !found_count) {
    return corrupt("no keys {} and {}; expected {} and {}", kSplitNoKey, kSplitCountKey, no, count);
  }
  return corrupt("{} {} of {}; expected {} of {}", kSplitNoKey, *found_no, *found_count, no, count);
}

void append_part(Checkpoint& checkpoint, GgufFile part, const std::string& home) {
  for (Tensor& tensor : part.tensors) tensor.home = home;
  if (checkpoint.tensors.empty()) {
    checkpoint.tensors = std::move(part.tensors);  // a copy would dominate memory use
  } else {
    std::ranges::move(part.tensors, std::back_inserter(checkpoint.tensors));
  }
}

Status check_names(const fs::path& folder, const std::vector<Tensor>& tensors) {
  const auto twice = NameIndex(names_in<std::string_view>(tensors)).find_twice();
  if (!twice) return {};
  const Tensor& second = tensors[twice->second];
  return in((folder / second.home).string(),
            Status(corrupt("tensor '{}' is in an earlier file too", second.name)));
}

Result<NumberedName> name_of_first(const fs::path& path, const Metadata& metadata) {
  const uint64_t count = split_count(metadata);
  const auto name = parse_split_name(path.string());
  if (!name || name->count != count) {
    return unsupported_hint(
        fmt::format("renaming it to {}", split_name("NAME", 0, count)),
        "one of {} files; its name does not say so, so the others cannot be found", count);
  }
  const auto no = metadata.find_unsigned(kSplitNoKey);
  if (no != name->number - 1) {
    return corrupt("key '{}' {}; the name says file {} of {}", kSplitNoKey,
                   no ? fmt::format("says file {}", *no + 1) : "is missing", name->number, count);
  }
  if (name->number != 1) {
    return misuse_hint(name->of(1), "file {} of {}; expected the first", name->number, count);
  }
  return *name;
}

Status read_others(const fs::path& path, const Metadata& metadata, Codecs codecs,
                   Checkpoint& checkpoint) {
  CKPT_ASSIGN(const NumberedName first, name_of_first(path, metadata));
  for (unsigned no = 1; no < first.count; ++no) {
    const fs::path sibling = first.of(no + 1);
    CKPT_ASSIGN(const bool exists, is_there(sibling, Links::kFollow));
    if (!exists) {
      return corrupt_hint("downloading it", "file {} of {} is missing: {}", no + 1, first.count,
                          sibling.filename().string());
    }
    CKPT_ASSIGN(GgufFile part, read_gguf_file(sibling, codecs));
    CKPT_TRY(in(sibling.string(), check_part(part, no, first.count)));
    append_part(checkpoint, std::move(part), sibling.filename().string());
  }
  CKPT_TRY(check_names(path.parent_path(), checkpoint.tensors));
  const auto total = metadata.find_unsigned(kSplitTensorsKey);
  if (total && *total != checkpoint.tensors.size()) {
    return corrupt("{} tensors in {} files; key '{}' says {}", checkpoint.tensors.size(),
                   first.count, kSplitTensorsKey, *total);
  }
  return {};
}

Result<Checkpoint> read_gguf(const fs::path& path, Codecs codecs, const ReadOptions& options) {
  std::vector<const Codec*> all(codecs.begin(), codecs.end());
  if (options.keep_unknown_types) {
    for (const Codec& codec : unknown_codecs()) all.push_back(&codec);
  }
  CKPT_ASSIGN(GgufFile file, read_gguf_file(path, all));
  Checkpoint checkpoint;
  checkpoint.format = kGguf.name;
  checkpoint.name = path.stem().string();
  append_part(checkpoint, {file.source, {}, {}, std::move(file.tensors)}, path.filename().string());
  for (const MetaEntry& entry : file.repeated.entries) checkpoint.not_read.push_back(entry.key);
  if (split_count(file.metadata) > 1) {
    CKPT_TRY(in_file(path.string(), read_others(path, file.metadata, all, checkpoint)));
    checkpoint.name = fs::path(parse_split_name(path.string())->prefix).filename().string();
  }
  for (const auto key : {kSplitNoKey, kSplitCountKey, kSplitTensorsKey, kSlackKey}) {
    file.metadata.remove(key);
  }
  checkpoint.metadata = std::move(file.metadata);
  return checkpoint;
}

}  // namespace

std::optional<NumberedName> parse_split_name(std::string_view path) {
  auto out = parse_numbered(path);
  const bool is_name = out && out->ending == ".gguf" && out->of_word == "-of-";  // llama.cpp's form
  return is_name ? std::move(out) : std::nullopt;
}

std::string split_name(std::string_view prefix, uint64_t no, uint64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, no + 1, count);
}

constinit const Format kGguf{
    .name = "gguf",
    .help = "llama.cpp's format: one file, or NAME-00001-of-0000N.gguf",
    .recognizes = is_gguf,
    .read = read_gguf,
    .lay_out = lay_out_gguf,
};

}  // namespace ckpt
