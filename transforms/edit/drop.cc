// drop: leaves tensors out, or the layers of a GGUF for multi-token prediction.
//
//   block_count 5, nextn_predict_layers 1 ──▶ block_count 4     lists of 5 blocks ──▶ of 4
//
// Globs match full tensor names. For a quantized weight that is "….weight", and its scales go too.

#include "core/model/tensor_names.h"
#include "core/model/transform.h"
#include "models/models.h"
#include "transforms/facts/keep_rules.h"
#include "transforms/to_gguf/general/general.h"

namespace ckpt {
namespace {

constexpr Choice kDroppedLayers[] = {{"none", false}, {"mtp", true}};
constexpr OptionRule kDropOptions[] = {
    option::glob("tensors", "the tensors to leave out").repeated(),
    option::choice("layers", kDroppedLayers,
                   "mtp: the layers of a GGUF for multi-token prediction, with their keys")
        .by_default("none")};

Status drop_mtp(Checkpoint& checkpoint) {
  Metadata& keys = checkpoint.metadata;
  const std::string blocks_key = fmt::format("{}.block_count", keys.architecture());
  const std::string nextn_key = fmt::format("{}.nextn_predict_layers", keys.architecture());
  const uint64_t blocks = keys.find_unsigned(blocks_key).value_or(0);
  const uint64_t nextn = keys.find_unsigned(nextn_key).value_or(0);
  if (nextn == 0 || nextn >= blocks) {
    return misuse("no layers for multi-token prediction ({} of {} of a GGUF)", nextn, blocks);
  }
  const MetaValue label = MetaValue::text(size_label(count_parameters(checkpoint.tensors)));
  std::erase_if(checkpoint.tensors, [&](const Tensor& tensor) {
    return block_of(tensor.name) >= static_cast<int64_t>(blocks - nextn);
  });
  keys.set(blocks_key, MetaValue::u32(blocks - nextn));
  keys.remove(nextn_key);
  for (MetaEntry& entry : keys.entries) {
    const bool is_counted = entry.key == "general.size_label" && entry.value == label;
    if (is_counted) entry.value = MetaValue::text(size_label(count_parameters(checkpoint.tensors)));
    auto* list = std::get_if<MetaArray>(&entry.value.value);
    const auto known = find_gguf_key(keys.architecture(), entry.key);
    const bool is_of_blocks = known && (known->kind == 'U' || known->kind == 'P');
    if (list == nullptr || !is_of_blocks || list->count() != blocks) continue;
    list->numbers.resize((blocks - nextn) * size_bytes(list->element));
  }
  return {};
}

Result<Checkpoint> drop(Checkpoint checkpoint, const OptionValues& options, const Context&) {
  const bool drops_mtp = options.choice<bool>("layers");
  if (drops_mtp) CKPT_TRY(drop_mtp(checkpoint));
  if (!drops_mtp && !options.has("tensors")) {
    return misuse_hint("drop:tensors=GLOB", "neither tensors nor layers to leave out");
  }
  KeepRules dropped(options.all("tensors"));
  std::erase_if(checkpoint.tensors,
                [&](const Tensor& tensor) { return dropped.matches({tensor.name}, true); });
  if (const std::string* glob = dropped.first_unmatched()) {
    return misuse("no tensor is called '{}'", *glob);
  }
  if (checkpoint.tensors.empty()) return misuse("no tensor would be left");
  return checkpoint;
}

}  // namespace

extern constinit const Transform kDrop{"drop", "leaves tensors out", kDropOptions, drop,
                                       ChangeScope::kNames};

}  // namespace ckpt
