// Merges adapters into a GGUF by way of the folder that it came from. A tensor changes when its
// sources include those of a merged weight; all others keep their bytes.
#include <algorithm>

#include "core/base/nearest.h"
#include "core/model/name_index.h"
#include "models/models.h"
#include "transforms/from_gguf/folder.h"
#include "transforms/llama_quantize/column_weights.h"
#include "transforms/lora/into_quantized.h"

namespace ckpt {
namespace {

constexpr std::string_view kEmbeddingTensor = "token_embd.weight";
constexpr std::string_view kHeadTensor = "output.weight";

void add_inputs(const ByteSource& source, Sources& out) {
  if (!out.insert(&source).second) return;
  if (const ComputedSource* computed = source.computed()) {
    computed->each_input([&](const Slice& slice) { add_inputs(*slice.source, out); });
  }
}

Sources all_sources(const Tensor& tensor) {
  Sources out;
  for (const ByteSource* source : direct_sources(tensor)) add_inputs(*source, out);
  return out;
}

bool share_any(const Sources& a, const Sources& b) {
  if (a.size() > b.size()) return share_any(b, a);
  return std::ranges::any_of(a, [&](const ByteSource* each) { return b.contains(each); });
}

class MergeIntoGguf {
 public:
  MergeIntoGguf(Checkpoint file, const QuantizedMerge& how)
      : file_(std::move(file)), how_(how), own_(how.context, how.encoding) {}

  Result<Checkpoint> run(const MergeInto& merge) {
    if (how_.context.imatrix != nullptr) CKPT_TRY(check_finite(*how_.context.imatrix));
    CKPT_TRY(stack_experts());
    CKPT_TRY(decode());
    Checkpoint folder = floats_;
    if (!how_.has_gguf_names) CKPT_SET(folder, returned_folder());
    Sources known;
    for (const Tensor& tensor : folder.tensors) known.merge(direct_sources(tensor));
    CKPT_TRY(merge(folder));
    Sources added;
    for (const Tensor& tensor : folder.tensors) {
      for (const ByteSource* source : direct_sources(tensor)) {
        if (!known.contains(source)) added.insert(source);
      }
    }
    if (!how_.has_gguf_names) {
      CKPT_ASSIGN(ForwardResult forward, run_forward(folder, file_, quiet()));
      folder.tensors = std::move(forward.tensors);
    }
    CKPT_TRY(take(folder.tensors, added));
    own_.note(file_.metadata);
    return std::move(file_);
  }

 private:
  Context quiet() const { return how_.context.quiet(); }

  Status stack_experts() {
    CKPT_ASSIGN(const uint64_t joined, stack_single_experts(file_, how_.context.codecs));
    if (joined == 0) return {};
    how_.context.note("lora: {} tensors of single experts become stacks, as llama.cpp reads them",
                      joined);
    return {};
  }

  Status decode() {
    if (file_.is_projector()) {
      return unsupported_hint("the folder that it was made from, then --mmproj-only",
                              "IN is a projector, whose names are not those of the model");
    }
    floats_ = file_;
    for (Tensor& tensor : floats_.tensors) tensor = own_.as_floats(tensor);
    return {};
  }

  Result<Checkpoint> returned_folder() const {
    ReturnedFolder found;
    if (how_.base.empty()) {
      auto made =
          find_folder(floats_, plain_codec(how_.context.codecs, Dtype::kBF16), false, quiet());
      if (!made) {
        Error error = std::move(made.error());
        if (!error.hint.empty()) error.hint = "base=DIR, the folder that the file was made from";
        return Failure(std::move(error));
      }
      found = std::move(*made);
    } else {
      CKPT_ASSIGN(Checkpoint base, how_.context.open(how_.base));
      if (base.format != "safetensors" || base.first_with_scales() != nullptr) {
        return misuse("base={}: expected an unquantized Hugging Face folder", how_.base);
      }
      CKPT_ASSIGN(found, folder_of_base(floats_, std::move(base), quiet()));
    }
    CKPT_TRY(return_tensors(floats_, {&own_.f32()}, found, quiet()));
    drop_others(found.folder);
    return std::move(found.folder);
  }

  // Towers of the base, say, which no GGUF of the model holds.
  void drop_others(Checkpoint& folder) const {
    Sources file;
    for (const Tensor& tensor : floats_.tensors) file.merge(direct_sources(tensor));
    std::erase_if(folder.tensors,
                  [&](const Tensor& tensor) { return !share_any(file, all_sources(tensor)); });
  }

  // Replaces tensors of the file by those of `merged` that read what was added.
  Status take(const std::vector<Tensor>& merged, const Sources& added) {
    const std::vector<Tensor> before = file_.tensors;
    const NameIndex places(names_in<std::string_view>(before));
    for (const Tensor& made : merged) {
      const bool is_changed = share_any(added, all_sources(made));
      auto place = places.find(made.name);
      const bool is_new = !place;
      if (is_new) place = places.find(kEmbeddingTensor);  // a head that was the embeddings
      if (is_new && (made.name != kHeadTensor || !place)) continue;
      if (is_new) CKPT_TRY(check_has_head());
      if (!is_new && !is_changed) continue;
      Tensor out = before[*place];
      out.name = made.name;
      if (is_changed) {
        CKPT_TRY(check_no_scale(out, places));
        CKPT_ASSIGN(out, own_.encoded(out, made));
      }
      if (is_new) {
        file_.tensors.push_back(std::move(out));
      } else {
        file_.tensors[*place] = std::move(out);
      }
    }
    return {};
  }

  Status check_has_head() const {
    for (const Family* family : families()) {
      if (family->name != file_.metadata.architecture() || family->head.is_in_gguf) continue;
      return unsupported_hint(
          "a folder as OUT, with the folder that IN was made from as IN",
          "a change of '{}' or '{}' alone: llama.cpp takes the embeddings of {} "
          "as its head",
          kEmbeddingTensor, kHeadTensor, family->name);
    }
    return {};
  }

  // Blocks of NVFP4 that are a part of their values alone.
  static Status check_no_scale(const Tensor& like, const NameIndex& names) {
    if (plain_dtype(*like.codec) != Dtype::kNvfp4) return {};
    const std::string scale = like.name.substr(0, like.name.rfind('.')) + ".scale";
    if (!names.find(scale)) return {};
    return unsupported_hint(
        "ckpt convert IN FOLDER, then ckpt convert FOLDER OUT.gguf --step dequantize "
        "--step lora:from=ADAPTER --to nvfp4-w4a16",
        "tensor '{}' is nvfp4 with its scale in '{}', which the sum would change", like.name,
        scale);
  }

  Checkpoint file_, floats_;  // the same tensors
  const QuantizedMerge& how_;
  OwnCodecs own_;
};

}  // namespace

Result<Checkpoint> merge_into_gguf(Checkpoint file, const MergeInto& merge,
                                   const QuantizedMerge& how) {
  return MergeIntoGguf(std::move(file), how).run(merge);
}

}  // namespace ckpt
