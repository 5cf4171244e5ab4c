#include "transforms/from_gguf/folder.h"

#include <algorithm>
#include <map>

#include "core/base/find.h"
#include "core/base/words.h"
#include "core/chunks/evaluate.h"
#include "transforms/facts/torch_dtype.h"
#include "transforms/from_gguf/token_table.h"
#include "transforms/to_gguf/mxfp4.h"
#include "transforms/vl/families.h"

namespace ckpt {
namespace {

constexpr const char* kBaseHint = "--base DIR, the folder that the file was made from";

// Adds the family and its variants, those that have the name.
void add_named(const Family& family, std::string_view name, std::vector<const Family*>& out) {
  if (family.name == name) out.push_back(&family);
  for (const FamilyVariant& variant : family.forms.variants) {
    if (variant.family != nullptr) add_named(*variant.family, name, out);
  }
}

// Whether the file has the special tokens that the class names ("bos=[GO] eot=<end>").
bool has_tokens_of(const Checkpoint& file, const TokenTable& table, const Family& family) {
  const std::vector<std::string_view> entries = split_words(family.tokenizer.special_tokens);
  return !entries.empty() && std::ranges::all_of(entries, [&](std::string_view entry) {
    const size_t sign = entry.find('=');
    const std::string_view kind = entry.substr(0, sign);
    const auto id = special_id(file, table, kind == "unk" ? "unknown" : kind);
    return id && table.text(*id) == entry.substr(sign + 1);
  });
}

// Families whose special tokens the file has come first.
std::vector<const Family*> families_named(std::string_view name, const Checkpoint& file) {
  std::vector<const Family*> out;
  for (const Family* family : families()) add_named(*family, name, out);
  const auto table = read_token_table(file);
  if (!table) return out;
  std::stable_partition(out.begin(), out.end(),
                        [&](const Family* family) { return has_tokens_of(file, *table, *family); });
  return out;
}

// llama.cpp rejects keys of another type, so they are reported before a configuration is made.
Status check_key_types(const Checkpoint& file, const Family& family) {
  constexpr std::string_view kSingleKinds = "ufbtU";
  const std::string prefix = fmt::format("{}.", family.name);
  for (const MetaEntry& entry : file.metadata.entries) {
    if (!entry.key.starts_with(prefix) || entry.value.type == MetaType::kArray) continue;
    const auto key = find_gguf_key(family.name, entry.key);
    const bool is_single = key && key->is_read && kSingleKinds.find(key->kind) != std::string::npos;
    if (!is_single || entry.value.type == key->type) continue;
    return corrupt("key '{}' is {}; expected {}", entry.key, name(entry.value.type),
                   name(key->type));
  }
  return {};
}

// Adds the modules of sentence-transformers that say how an encoder's outputs become one.
void add_pooling(const Checkpoint& file, const Family& family, Checkpoint& folder) {
  constexpr const char* kModes[] = {"", "mean_tokens", "cls_token", "lasttoken"};
  const uint64_t type =
      file.metadata.find_unsigned(fmt::format("{}.pooling_type", family.name)).value_or(0);
  if (type == 0 || type >= std::size(kModes)) return;
  const JsonValue modules = {
      {{"idx", 0}, {"path", ""}, {"type", "sentence_transformers.models.Transformer"}},
      {{"idx", 1}, {"path", "1_Pooling"}, {"type", "sentence_transformers.models.Pooling"}}};
  const auto size = file.metadata.find_unsigned(fmt::format("{}.embedding_length", family.name));
  const JsonValue pooling = {{"word_embedding_dimension", size.value_or(0)},
                             {fmt::format("pooling_mode_{}", kModes[type]), true}};
  folder.set_document("modules.json", modules.dump(2) + "\n");
  folder.set_document("1_Pooling/config.json", pooling.dump(2) + "\n");
}

struct Wanted {
  const Codec& floats;
  bool keeps_mxfp4;
  bool& has_tensors;  // an output: becomes true once the file has all tensors of the family
};
Result<ReturnedFolder> folder_of_family(const Checkpoint& file, const Family& family,
                                        const Wanted& wanted, const Context& context) {
  CKPT_TRY(check_key_types(file, family));
  CKPT_ASSIGN(JsonValue config, returned_config(file, family, torch_name(wanted.floats)));
  const bool keeps_mxfp4 = wanted.keeps_mxfp4 && family.traits.text.has(ModelTrait::kKeepsMxfp4);
  if (keeps_mxfp4) add_mxfp4_statement(config);
  ReturnedFolder out;
  CKPT_ASSIGN(out.folder, make_skeleton(file, config, family, context));
  add_pooling(file, family, out.folder);
  wanted.has_tensors = true;
  CKPT_ASSIGN(out.forward, run_forward(out.folder, file, context));
  CKPT_TRY(check_forward(file, out.folder, MadeFrom::kFile, out.forward));
  return out;
}

// Whether the tensor takes values from other tensors, and not from the configuration alone.
bool is_of_values(const Tensor& made) {
  return !made.is_stored() || !made.home.empty() || !made.source_name.empty();
}

// Returns the file's tensors in the order of `made`; nullptr stands for one that the file lacks and
// that the configuration alone determines, or another tensor of the file: a reranker's rows of the
// embeddings. Fails: kCorrupt if the file lacks any other tensor.
Result<std::vector<const Tensor*>> tensors_named(const std::vector<Tensor>& made,
                                                 const Checkpoint& folder, const Checkpoint& file) {
  std::map<std::string_view, const Tensor*> by_name;
  for (const Tensor& tensor : file.tensors) by_name[tensor.name] = &tensor;
  const auto is_elsewhere = [&](const Tensor& tensor) {
    const Tensor* source = folder.find_tensor(tensor.original_name());
    return source != nullptr && std::ranges::any_of(made, [&](const Tensor& other) {
             return other.original_name() == source->name && other.values() == source->values() &&
                    by_name.contains(other.name);
           });
  };
  std::vector<const Tensor*> out;
  for (const Tensor& tensor : made) {
    const auto* found = find_mapped(by_name, std::string_view(tensor.name));
    if (found == nullptr && is_of_values(tensor) && !is_elsewhere(tensor)) {
      return corrupt("tensor '{}' is missing; '{}' of the folder becomes it", tensor.name,
                     tensor.original_name());
    }
    out.push_back(found == nullptr ? nullptr : *found);
  }
  return out;
}

std::vector<size_t> tensors_of_values(const std::vector<Tensor>& made) {
  std::vector<size_t> out;
  for (size_t i = 0; i < made.size(); ++i) {
    if (is_of_values(made[i])) out.push_back(i);
  }
  return out;
}

const NameRule* first_product(const Family& family) {
  for (const std::span<const NameRule> list : family.names) {
    for (const NameRule& rule : list) {
      if (rule.change == Change::kProduct) return &rule;
    }
  }
  return nullptr;
}

// Whether to-gguf multiplied the tensor by another one of the folder, or by config.json's numbers.
bool is_product(const Tensor& made) {
  return std::ranges::any_of(made.ops(), [](const ValueOp& op) {
    return std::holds_alternative<ScaleColumns>(op) || std::holds_alternative<ScaleRows>(op);
  });
}

// Where the file has a product, checks that BASE's tensors give it; the folder then keeps BASE's,
// because division would round them. Removes these tensors from `wanted`. Fails: kUsage: they give
// another product.
Status keep_factors(const TensorPairs& pairs, std::vector<size_t>& wanted) {
  for (const size_t i : wanted) {
    if (!is_product(pairs.made[i])) continue;
    CKPT_ASSIGN(const RowSample ours, sample_rows(pairs.made[i]));
    CKPT_ASSIGN(const RowSample theirs, sample_rows(*pairs.found[i]));
    if (ours.values == theirs.values) continue;
    return misuse("tensor '{}' is not the product that BASE's tensors give ('{}')",
                  pairs.made[i].name, pairs.made[i].original_name());
  }
  std::erase_if(wanted, [&](size_t i) { return is_product(pairs.made[i]); });
  return {};
}

// Maps indexes of the folder's tensors of 64-bit numbers to those of the tensors of 32-bit numbers
// that to-gguf makes of them, and removes the latter from `wanted`.
std::map<size_t, size_t> find_wide_numbers(const std::vector<Tensor>& folder,
                                           const std::vector<Tensor>& made,
                                           std::vector<size_t>& wanted) {
  std::map<size_t, size_t> out;
  for (size_t i = 0; i < folder.size(); ++i) {
    if (plain_dtype(*folder[i].codec) != Dtype::kI64) continue;
    const auto found = std::ranges::find_if(wanted, [&](size_t at) {
      return plain_dtype(*made[at].codec) == Dtype::kI32 &&
             made[at].original_name() == folder[i].original_name();
    });
    if (found == wanted.end()) continue;
    out[i] = *found;
    wanted.erase(found);
  }
  return out;
}

// Whether the folder has the tensor in F32. Families that keep the types of folders have F32
// matrices where the file has them, and F32 vectors where the skeleton has them.
bool has_kept_f32(const Tensor& tensor, const Tensor& source, const Family& family) {
  const Tensor& from = tensor.shape.size() > 1 ? source : tensor;
  return family.traits.text.has(ModelTrait::kKeepsTypes) &&
         plain_dtype(*from.codec) == Dtype::kF32;
}

const Codec& returned_type(const Tensor& tensor, const Tensor& source, const ReturnedTypes& as) {
  if (as.type == nullptr || keeps_f32(tensor.name)) return *tensor.codec;
  if (as.keep == nullptr) return *as.type;
  const Codec& own = is_plain_float(*source.codec) ? *source.codec : *as.unkept;
  return as.keep->matches({tensor.name, source.name}, &own != as.type) ? own : *as.type;
}

}  // namespace

Result<ReturnedFolder> find_folder(const Checkpoint& file, const Codec& floats, bool keeps_mxfp4,
                                   const Context& context) {
  const std::string_view name = file.metadata.architecture();
  std::optional<Error> nearest;  // of the first family that has the tensors, else of the first
  bool has_tensors = false;
  for (const Family* family : families_named(name, file)) {
    if (const NameRule* product = first_product(*family); product != nullptr) {
      return unsupported_hint(kBaseHint,
                              "'{}' is the product of two tensors of {}, which the file does not "
                              "hold apart",
                              product->to, split_words(family->architectures).front());
    }
    bool is_of_tensors = false;
    auto tried = folder_of_family(file, form_of_file(*family, file),
                                  {floats, keeps_mxfp4, is_of_tensors}, context);
    if (tried) return tried;
    if (!nearest || (is_of_tensors && !has_tensors)) nearest = tried.error();
    has_tensors = has_tensors || is_of_tensors;
  }
  if (nearest) return fail_with_hint(nearest->code, kBaseHint, "{}", nearest->what);
  return unsupported("architecture '{}' is not known; ckpt list families shows those that are",
                     name);
}

void note_other_keys(const ForwardResult& forward, const Context& context) {
  if (!forward.absent.empty()) {
    context.note("keys that the file lacks are what llama.cpp takes without them: {}",
                 fmt::join(forward.absent, ", "));
  }
  if (!forward.of_base.empty()) {
    context.note("the file lacks these keys, and the folder has BASE's values: {}",
                 fmt::join(forward.of_base, ", "));
  }
  if (!forward.unread.empty()) {
    context.note("no program reads these keys of the file, and the folder does not have them: {}",
                 fmt::join(forward.unread, ", "));
  }
}

Status check_architecture(const Checkpoint& file, const Family& family) {
  const std::string* found = file.metadata.find_text("general.architecture");
  if (found != nullptr && *found == family.name) return {};
  return misuse("the file's architecture is {}; BASE is {}", found == nullptr ? "not said" : *found,
                family.name);
}

Result<ReturnedFolder> folder_of_base(const Checkpoint& file, Checkpoint base,
                                      const Context& context) {
  base.tensors = join_mxfp4(std::move(base.tensors), context.codecs);
  ReturnedFolder out{std::move(base), {}, 0};
  CKPT_ASSIGN(out.forward, run_forward(out.folder, file, context));
  CKPT_TRY(check_architecture(file, *out.forward.model.family));
  const auto checked = check_forward(file, out.folder, MadeFrom::kBase, out.forward);
  if (checked) return out;
  return misuse("BASE is not the model that this file was made from: {}", checked.error().what);
}

Status return_tensors(const Checkpoint& file, const ReturnedTypes& as, ReturnedFolder& found,
                      const Context& context) {
  const std::vector<Tensor>& made = found.forward.tensors;
  CKPT_ASSIGN(const std::vector<const Tensor*> sources, tensors_named(made, found.folder, file));
  for (size_t i = 0; i < made.size(); ++i) {
    if (sources[i] == nullptr) found.forward.of_base.push_back(made[i].name);
  }
  std::vector<size_t> wanted = tensors_of_values(made);
  std::erase_if(wanted, [&](size_t i) { return sources[i] == nullptr; });
  CKPT_TRY(keep_factors({made, sources}, wanted));
  const auto numbers = find_wide_numbers(found.folder.tensors, made, wanted);
  CKPT_ASSIGN(const GridMap grids, find_moved_grids(found.folder.tensors, made, wanted));
  CKPT_ASSIGN(const RowMap rows, find_moved_rows(found.folder.tensors, made, wanted));
  const Codec& f32 = plain_codec(context.codecs, Dtype::kF32);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < found.folder.tensors.size(); ++i) {
    Tensor tensor = found.folder.tensors[i];
    const bool is_packed = is_mxfp4(tensor);
    const auto give = [&](const auto* moved) -> Status {
      const Tensor& source = *sources[moved->front().gguf];
      const bool is_f32 = as.is_auto && has_kept_f32(tensor, source, *found.forward.model.family);
      const TargetTypes types{is_f32 ? f32 : returned_type(tensor, source, as), f32};
      CKPT_SET(tensor, returned_tensor(tensor, *moved, {made, sources}, types));
      return {};
    };
    if (const size_t* number = find_mapped(numbers, i)) {
      CKPT_SET(tensor, as_wide_numbers(*sources[*number], tensor, context.codecs));
    } else if (const auto* grid = find_mapped(grids, i)) {
      CKPT_TRY(give(grid));
    } else if (const auto* runs = find_mapped(rows, i)) {
      CKPT_TRY(give(runs));
    } else {
      ++found.kept;
    }
    if (!is_packed) {
      tensors.push_back(std::move(tensor));
      continue;
    }
    for (Tensor& part : split_mxfp4(tensor, context.codecs)) tensors.push_back(std::move(part));
  }
  found.folder.tensors = std::move(tensors);
  return {};
}

bool turns_back(const Family& family) { return first_product(family) == nullptr; }

std::optional<ReturnedClass> returned_class(std::string_view architecture) {
  const Family* table = table_of_architecture(architecture);
  const bool has_decoder = table != nullptr && !table->decoder.layers.empty();
  if (!architecture.ends_with("ForConditionalGeneration") || has_decoder) {
    return ReturnedClass{nullptr, architecture};
  }
  const std::span<const VlFamily> all = all_vl_families();
  const auto family = std::ranges::find_if(all, [&](const VlFamily& row) {
    return row.architecture == architecture && !row.texts.empty();
  });
  if (family == all.end()) return std::nullopt;
  return ReturnedClass{&*family, family->texts[0].architecture};
}

Result<std::string> name_text_class(ReturnedFolder& found) {
  const std::string& wrapper = found.forward.model.architecture;
  const std::optional<ReturnedClass> returned = returned_class(wrapper);
  if (returned && returned->wrapper == nullptr) return std::string();
  if (!returned) {
    return unsupported_hint(
        kBaseHint, "the file holds the text part of a {}, which has no class of its own", wrapper);
  }
  const VlFamily* family = returned->wrapper;
  const VlText& text = family->texts[0];
  CKPT_ASSIGN(const auto declared, found.folder.find_document("config.json")->values());
  JsonValue config = *declared;
  config["architectures"] = {std::string(text.architecture)};
  config["model_type"] = std::string(text.outside);
  config.erase("vision_config");
  if (!family->mrope.section.empty() && text.outside != text.inside) {
    for (const char* field : {"mrope_section", "mrope_interleaved"}) {
      if (config.contains("rope_parameters")) config["rope_parameters"].erase(field);
      if (config.contains("rope_scaling")) config["rope_scaling"].erase(field);
    }
  }
  found.folder.set_document("config.json", config.dump(2) + "\n");
  return std::string(text.architecture);
}

}  // namespace ckpt
