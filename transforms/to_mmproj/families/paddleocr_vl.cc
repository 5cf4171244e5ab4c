// PaddleOCR-VL: SigLIP's tower for images of any size, and a merger.
//
// Source: llama.cpp conversion/ernie.py PaddleOCRVisionModel; defaults: transformers
// models/paddleocr_vl/configuration_paddleocr_vl.py.
#include <cmath>

#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kPaddleOcrKeys[] = {
    {"vision.image_max_pixels", MetaType::kU32, "max_pixels", &ProjectorModel::preprocessor},
    {"vision.image_min_pixels", MetaType::kU32, "min_pixels", &ProjectorModel::preprocessor},
    kGeluKey,
    kRmsEpsilonKey,
};

// The largest square image.
Status complete_paddleocr(const Checkpoint&, ProjectorModel& model) {
  CKPT_ASSIGN(const double pixels, model.preprocessor.real("max_pixels"));
  if (!(pixels >= 1)) return corrupt("{}: max_pixels is {}", model.preprocessor.where, pixels);
  model.vision.json["image_size"] = static_cast<uint64_t>(std::sqrt(pixels));
  return {};
}

}  // namespace

const ProjectorFamily kPaddleOcrProjector = {
    .name = "paddleocr",
    .architectures = "PaddleOCRVLForConditionalGeneration",
    .tower = "paddleocr_vl",
    .vision_defaults = R"({"rms_norm_eps": 1e-6})",
    .text_defaults = R"({"hidden_size": 1024})",
    .complete = complete_paddleocr,
    .keys = kPaddleOcrKeys,
};

}  // namespace ckpt
