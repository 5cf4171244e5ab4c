// Checks the files that an image processor is built from.
//
// Sources: transformers src/transformers/models/auto/image_processing_auto.py; vLLM
// vllm/multimodal/processing.
// Servers build the processor of a wrapper even if they serve only text.
#include "checks/subject/subject.h"
#include "core/model/json_documents.h"

namespace ckpt {
namespace {

bool wants_processor(const Subject& on) { return known(on.config, "vision_config") != nullptr; }

bool has_nested(const Subject& on) {
  auto nested = read_object(on.checkpoint, "processor_config.json");
  return nested && *nested && known(**nested, "image_processor") != nullptr;
}

bool lacks_file(const Subject& on) {
  return wants_processor(on) && !on.has_document("preprocessor_config.json");
}

void check_present(const CheckContext& context) {
  if (!lacks_file(context.on) || has_nested(context.on)) return;
  context.report("preprocessor_config.json", "missing; config.json has a vision_config");
}

void check_nested(const CheckContext& context) {
  if (!lacks_file(context.on) || !has_nested(context.on)) return;
  context.report("processor_config.json", "holds the image processor, as transformers 5 writes it");
}

void check_type(const CheckContext& context) {
  if (!wants_processor(context.on) || context.on.preprocessor.is_null()) return;
  if (known(context.on.preprocessor, "image_processor_type") != nullptr) return;
  context.report("preprocessor_config.json: image_processor_type", "absent");
}

void check_sizes(const CheckContext& context) {
  const JsonValue* vision = known(context.on.config, "vision_config");
  if (vision == nullptr || context.on.preprocessor.is_null()) return;
  for (const std::string_view key : {"patch_size", "temporal_patch_size", "merge_size"}) {
    const std::string_view other = key == "merge_size" ? "spatial_merge_size" : key;
    const JsonValue* here = known(context.on.preprocessor, key);
    const JsonValue* there = known(*vision, other);
    if (here == nullptr || there == nullptr || *here == *there) continue;
    context.tell(fmt::format("preprocessor_config.json: {}", key), "{}; vision_config.{} is {}",
                 here->dump(), other, there->dump());
  }
}

void check_video(const CheckContext& context) {
  const Subject& on = context.on;
  if (!wants_processor(on) || known(on.config, "video_token_id") == nullptr) return;
  if (on.has_document("video_preprocessor_config.json") || has_nested(on)) return;
  context.report("video_preprocessor_config.json", "missing; config.json has a video_token_id");
}

constexpr Check kProcessorChecks[] = {
    {"P01", "a wrapper has preprocessor_config.json", "S: vllm* sglang, W: tensorrt-llm",
     "does not appear to have a file named preprocessor_config.json: the weights load, and the "
     "server stops when it makes its processor",
     "", check_present, "preprocessor"},
    {"P02", "the image processor has a separate file",
     "S: vllm-tf4 sglang, W: tensorrt-llm, I: vllm-tf5",
     "does not appear to have a file named preprocessor_config.json", "", check_nested,
     "preprocessor"},
    {"P03", "image_processor_type is set", "W: vllm* sglang, I: tensorrt-llm",
     "Unrecognized image processor", "", check_type, "preprocessor"},
    {"P04", "patch sizes equal vision_config's", "W: vllm* sglang, I: tensorrt-llm",
     "shape errors with images", "take preprocessor_config.json from the source model",
     check_sizes},
    {"P06", "video_preprocessor_config.json", "W: vllm* sglang", "no video processor", "",
     check_video, "preprocessor"},
};

}  // namespace

std::span<const Check> processor_checks() { return kProcessorChecks; }

}  // namespace ckpt
