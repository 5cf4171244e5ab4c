// torchao: tensors of its own classes, flattened into safetensors.
//
//   P._weight_qdata F8_E4M3, F8_E5M2, I8 [N, K], P._weight_scale, P._weight_zero_point I8
//   __metadata__ of the file: "P.weight": {"_type": "Float8Tensor", "_data": {"block_size": ...}}
//
//   Float8Tensor                              value = code x scale
//   Int8Tensor, IntxUnpackedToInt8Tensor      value = (code - zero point) x scale
//
// Checkpoints also contain scales of activations, which floats do not need. Other classes pack
// codes for a specific kernel and are rejected by name; torchao before 0.15 wrote pickles.
// Source: torchao prototype/safetensors (flatten_tensor_state_dict), quantization/quantize_/
// workflows.
#include <algorithm>

#include "core/json/json_edit.h"
#include "core/model/tensor_names.h"
#include "transforms/packed/job.h"

namespace ckpt {
namespace {

constexpr std::string_view kQdata = "_qdata";
constexpr std::string_view kFlatClasses[] = {"Float8Tensor", "Int8Tensor",
                                             "IntxUnpackedToInt8Tensor"};

bool is_qdata(const PackedJob&, const Tensor& tensor) {
  return last_word(tensor.name).starts_with("_") && tensor.name.ends_with(kQdata);
}

// "model.norm.weight" for "model.norm._weight_qdata".
std::string flattened_weight(const Tensor& qdata) {
  const std::string word(last_word(qdata.name));
  return fmt::format("{}.{}", module_of(qdata.name),
                     word.substr(1, word.size() - 1 - kQdata.size()));
}

// A weight's entry in the file's __metadata__: its class, and the values that share a scale.
struct FlatClass {
  std::string name;
  std::vector<uint64_t> block;
  std::vector<std::string> parts;  // "qdata", "scale"
};

Result<FlatClass> flat_class(const PackedJob& job, const Tensor& qdata) {
  const std::string weight = flattened_weight(qdata);
  const std::string* note = job.file_note(qdata, weight);
  if (note == nullptr) {
    return corrupt_hint("the whole folder, downloaded again",
                        "tensor '{}': the __metadata__ of '{}' has no '{}', which says of what "
                        "class of torchao's it is",
                        qdata.name, qdata.home, weight);
  }
  CKPT_ASSIGN(const JsonText declared,
              in(fmt::format("__metadata__ '{}'", weight), JsonText::parse(*note)));
  FlatClass out{declared.find_text("_type").value_or(""), {}, {}};
  if (std::ranges::find(kFlatClasses, out.name) == std::end(kFlatClasses)) {
    return unsupported_hint("the checkpoint that it was quantized from",
                            "tensor '{}' is torchao's {}; of torchao only {} are read here", weight,
                            out.name, fmt::join(kFlatClasses, ", "));
  }
  const JsonText* data = declared.find("_data");
  if (data != nullptr) out.block = wholes_in(data->find("block_size"));
  const JsonText* parts = declared.find("_tensor_data_names");
  for (size_t i = 0; parts != nullptr && i < parts->items().size(); ++i) {
    out.parts.push_back(parts->items()[i].as_text().value_or(""));
  }
  if (out.name == kFlatClasses[2]) out.parts.emplace_back("zero_point");
  return out;
}

Result<PackedWeight> join_flattened(const PackedJob& job, const Tensor& qdata) {
  CKPT_ASSIGN(const FlatClass declared, flat_class(job, qdata));
  const std::string stem = qdata.name.substr(0, qdata.name.size() - kQdata.size());
  CKPT_ASSIGN(const Tensor* scale, job.need(stem + "_scale", qdata));
  for (const std::string& part : declared.parts) CKPT_TRY(job.need(stem + "_" + part, qdata));
  const bool is_float = declared.name == kFlatClasses[0];
  if (is_float ? !is_fp8_grid(qdata) : !is_plain_grid(qdata, Dtype::kI8, 2)) {
    return wrong_part(qdata, is_float ? "f8_e4m3 or f8_e5m2 in two axes" : "i8 in two axes");
  }
  ScaledShape shape{qdata.shape[0], qdata.shape[1], 0, {}};
  const bool is_group = declared.block.size() == 2 && declared.block[0] == 1;
  if (is_group && declared.block[1] < shape.columns) shape.group = declared.block[1];
  if (declared.block.size() == 2 && !is_group) shape.block = declared.block;
  CKPT_ASSIGN(CodedMatrix matrix, scaled_codes(qdata, *scale, shape));
  PackedWeight out{{}, {&qdata, scale}, {}};
  const Tensor* zeros = job.find(stem + "_zero_point");
  if (zeros != nullptr) {
    out.parts.push_back(zeros);
    CKPT_TRY(add_byte_zeros(*zeros, "", matrix));
    if (matrix.scales.tile_rows != 1) return wrong_part(*zeros, "one for each row or group");
  }
  if (const Tensor* smooth = job.find(stem + "_act_pre_scale")) {
    return wrong_part(*smooth, "none: what the input is multiplied with first is not read here");
  }
  for (const char* end : {"_act_quant_scale", "_act_quant_zero_point"}) {
    if (const Tensor* side = job.find(stem + end)) out.parts.push_back(side);
  }
  out.label = fmt::format("{} ({})", is_float ? "FP8" : "INT8", describe(matrix.scales));
  out.weight = coded_tensor(job, qdata, flattened_weight(qdata), std::move(matrix));
  return out;
}

}  // namespace

extern constinit const PackedKind kTorchaoKind{"torchao", is_qdata, join_flattened};

}  // namespace ckpt
