#include "transforms/vl/families.h"

#include <algorithm>

#include "core/base/find.h"

namespace ckpt {
namespace {

using std::string_view;

// ---- names -------------------------------------------------------------------------------------

constexpr VlRename kInsideModel[] = {{"model", "model.language_model"}, {"lm_head", "lm_head"}};
constexpr VlRename kBesideTower[] = {{"model", "language_model.model"},
                                     {"lm_head", "language_model.lm_head"}};
constexpr VlRename kSameNames[] = {{"model", "model"}, {"lm_head", "lm_head"}};

constexpr string_view kInnerVisual[] = {"model.visual"};
constexpr string_view kOuterVisual[] = {"visual"};
constexpr string_view kTower[] = {"multi_modal_projector", "vision_tower"};
constexpr string_view kVisionModel[] = {"multi_modal_projector", "vision_model"};
constexpr string_view kVisionMlp[] = {"mlp1", "vision_model"};

// ---- text models -------------------------------------------------------------------------------

constexpr VlText kQwen35Text[] = {{"qwen3_5_text", "qwen3_5_text", "Qwen3_5ForCausalLM"}};
constexpr VlText kQwen35Moe[] = {{"qwen3_5_moe_text", "qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"}};
constexpr VlText kQwen2Vl[] = {{"qwen2", "qwen2_vl_text", "Qwen2ForCausalLM"}};
constexpr VlText kQwen25Vl[] = {{"qwen2", "qwen2_5_vl_text", "Qwen2ForCausalLM"}};
constexpr VlText kQwen3Vl[] = {{"qwen3", "qwen3_vl_text", "Qwen3ForCausalLM"}};
constexpr VlText kQwen3VlMoe[] = {{"qwen3_moe", "qwen3_vl_moe_text", "Qwen3MoeForCausalLM"}};
constexpr VlText kGemma3[] = {{"gemma3_text", "gemma3_text", "Gemma3ForCausalLM"}};
constexpr VlText kMistral3[] = {{"mistral", "mistral", "MistralForCausalLM"},
                                {"ministral3", "ministral3", "Ministral3ForCausalLM"}};
constexpr VlText kLlama4[] = {{"llama4_text", "llama4_text", "Llama4ForCausalLM"}};
constexpr VlText kInternVl[] = {{"qwen2", "qwen2", "Qwen2ForCausalLM"},
                                {"qwen3", "qwen3", "Qwen3ForCausalLM"},
                                {"qwen3_moe", "qwen3_moe", "Qwen3MoeForCausalLM"},
                                {"gpt_oss", "gpt_oss", "GptOssForCausalLM"}};

// ---- tokens ------------------------------------------------------------------------------------

constexpr VlToken kQwen35Tokens[] = {{"image_token_id", "<|image_pad|>", 248056},
                                     {"video_token_id", "<|video_pad|>", 248057},
                                     {"vision_end_token_id", "<|vision_end|>", 248054},
                                     {"vision_start_token_id", "<|vision_start|>", 248053}};
constexpr VlToken kQwen2Tokens[] = {{"image_token_id", "<|image_pad|>", 151655},
                                    {"video_token_id", "<|video_pad|>", 151656},
                                    {"vision_end_token_id", "<|vision_end|>", 151653},
                                    {"vision_start_token_id", "<|vision_start|>", 151652},
                                    {"vision_token_id", "<|vision_pad|>", 151654}};
constexpr std::span<const VlToken> kQwenTokens = std::span(kQwen2Tokens).first(4);
constexpr VlToken kGemmaTokens[] = {{"boi_token_index", "<start_of_image>", 255999},
                                    {"eoi_token_index", "<end_of_image>", 256000},
                                    {"image_token_index", "<image_soft_token>", 262144}};
constexpr VlToken kMistralTokens[] = {{"image_token_index", "[IMG]", 10}};
constexpr VlToken kLlama4Tokens[] = {{"boi_token_index", "<|image_start|>", 200080},
                                     {"eoi_token_index", "<|image_end|>", 200081},
                                     {"image_token_index", "<|patch|>", 200092}};
constexpr VlToken kInternTokens[] = {{"image_token_id", "<IMG_CONTEXT>", 151667}};

constexpr uint64_t kQwen35Section[] = {11, 11, 10};
constexpr uint64_t kQwen3Section[] = {24, 20, 20};
constexpr uint64_t kQwen2Section[] = {16, 24, 24};

// ---- vision_config -----------------------------------------------------------------------------

#define CKPT_QWEN3_VISION(type, layers)                                              \
  R"({"deepstack_visual_indexes": )" layers                                          \
  R"(, "depth": 27, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 1152,)"        \
  R"( "in_channels": 3, "initializer_range": 0.02, "intermediate_size": 4304,)"      \
  R"( "model_type": ")" type                                                         \
  R"(", "num_heads": 16, "num_position_embeddings": 2304, "out_hidden_size": 3584,)" \
  R"( "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2})"

constexpr string_view kGemmaVision =
    R"({"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304,
        "model_type": "siglip_vision_model", "num_attention_heads": 16, "num_hidden_layers": 27,
        "patch_size": 14, "vision_use_head": false})";
constexpr string_view kPixtral =
    R"({"attention_dropout": 0.0, "head_dim": 64, "hidden_act": "silu", "hidden_size": 1024,
        "image_size": 1540, "initializer_range": 0.02, "intermediate_size": 4096,
        "model_type": "pixtral", "num_attention_heads": 16, "num_channels": 3,
        "num_hidden_layers": 24, "patch_size": 14, "rope_theta": 10000.0})";
constexpr string_view kLlama4Vision =
    R"({"attention_dropout": 0.0, "hidden_act": "gelu", "hidden_size": 1408, "image_size": 336,
        "initializer_range": 0.02, "intermediate_size": 5632, "model_type": "llama4_vision_model",
        "multi_modal_projector_bias": false, "norm_eps": 1e-05, "num_attention_heads": 16,
        "num_channels": 3, "num_hidden_layers": 34, "patch_size": 14, "pixel_shuffle_ratio": 0.5,
        "projector_dropout": 0.0, "projector_input_dim": 4096, "projector_output_dim": 4096,
        "rope_theta": 10000, "vision_feature_layer": -1,
        "vision_feature_select_strategy": "default", "vision_output_dim": 4096})";

// ---- processors --------------------------------------------------------------------------------

constexpr string_view kQwen3Pre =
    R"({"size": {"longest_edge": 16777216, "shortest_edge": 65536}, "patch_size": 16,
        "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5], "processor_class": "Qwen3VLProcessor",
        "image_processor_type": "Qwen2VLImageProcessorFast"})";
constexpr string_view kQwen3Video =
    R"({"size": {"longest_edge": 25165824, "shortest_edge": 4096}, "patch_size": 16,
        "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5], "processor_class": "Qwen3VLProcessor",
        "video_processor_type": "Qwen3VLVideoProcessor"})";

#define CKPT_QWEN2_PROCESSOR(processor)                                                   \
  R"({"max_pixels": 12845056, "min_pixels": 3136, "patch_size": 14,)"                     \
  R"( "temporal_patch_size": 2, "merge_size": 2,)"                                        \
  R"( "image_mean": [0.48145466, 0.4578275, 0.40821073],)"                                \
  R"( "image_std": [0.26862954, 0.26130258, 0.27577711], "processor_class": ")" processor \
  R"(", "image_processor_type": "Qwen2VLImageProcessor"})"

constexpr string_view kGemmaPre =
    R"({"do_convert_rgb": null, "do_normalize": true, "do_pan_and_scan": null, "do_rescale": true,
        "do_resize": true, "image_mean": [0.5, 0.5, 0.5],
        "image_processor_type": "Gemma3ImageProcessor", "image_seq_length": 256,
        "image_std": [0.5, 0.5, 0.5], "pan_and_scan_max_num_crops": null,
        "pan_and_scan_min_crop_size": null, "pan_and_scan_min_ratio_to_activate": null,
        "processor_class": "Gemma3Processor", "resample": 2,
        "rescale_factor": 0.00392156862745098, "size": {"height": 896, "width": 896}})";
constexpr string_view kGemmaProcessor =
    R"({"image_seq_length": 256, "processor_class": "Gemma3Processor"})";
constexpr string_view kPixtralPre =
    R"({"do_convert_rgb": true, "do_normalize": true, "do_rescale": true, "do_resize": true,
        "image_mean": [0.48145466, 0.4578275, 0.40821073],
        "image_processor_type": "PixtralImageProcessor",
        "image_std": [0.26862954, 0.26130258, 0.27577711], "patch_size": 14,
        "processor_class": "PixtralProcessor", "resample": 3,
        "rescale_factor": 0.00392156862745098, "size": {"longest_edge": 1540}})";
constexpr string_view kPixtralProcessor =
    R"({"image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]",
        "image_token": "[IMG]", "patch_size": 14, "processor_class": "PixtralProcessor",
        "spatial_merge_size": 2})";
constexpr string_view kLlama4Pre =
    R"({"do_convert_rgb": true, "do_normalize": true, "do_rescale": true, "do_resize": true,
        "image_mean": [0.5, 0.5, 0.5], "image_processor_type": "Llama4ImageProcessorFast",
        "image_std": [0.5, 0.5, 0.5], "max_patches": 16, "processor_class": "Llama4Processor",
        "resample": 2, "rescale_factor": 0.00392156862745098, "resize_to_max_canvas": false,
        "size": {"height": 336, "width": 336}})";
constexpr string_view kLlama4Processor =
    R"({"fake_image_token": "<|image|>", "image_token": "<|image|>", "patch_size": 14,
        "processor_class": "Llama4Processor"})";
constexpr string_view kInternPre =
    R"({"crop_to_patches": true, "do_convert_rgb": true, "do_normalize": true, "do_rescale": true,
        "do_resize": true, "image_mean": [0.485, 0.456, 0.406],
        "image_processor_type": "GotOcr2ImageProcessorFast", "image_std": [0.229, 0.224, 0.225],
        "max_patches": 12, "min_patches": 1, "processor_class": "InternVLProcessor",
        "resample": 3, "rescale_factor": 0.00392156862745098,
        "size": {"height": 448, "width": 448}})";
constexpr string_view kInternProcessor =
    R"({"image_seq_length": 256, "processor_class": "InternVLProcessor"})";

constexpr VlSize kQwenSizes[] = {{"patch_size", "patch_size"},
                                 {"temporal_patch_size", "temporal_patch_size"},
                                 {"merge_size", "spatial_merge_size"}};
constexpr VlSize kSquare[] = {{"size.height", "image_size"}, {"size.width", "image_size"}};
constexpr VlSize kLongest[] = {{"patch_size", "patch_size"}, {"size.longest_edge", "image_size"}};
constexpr VlSize kPatch[] = {{"patch_size", "patch_size"}};

// ---- the rows ----------------------------------------------------------------------------------

constexpr VlFamily make_qwen35(string_view model_type, string_view architecture,
                               std::span<const VlText> texts, string_view vision) {
  return {.model_type = model_type,
          .architecture = architecture,
          .texts = texts,
          .names = kInsideModel,
          .vision_stems = kInnerVisual,
          .tokens = kQwen35Tokens,
          .vision_config = vision,
          .out_size_key = "out_hidden_size",
          .mrope = {kQwen35Section, true},
          .preprocessor = kQwen3Pre,
          .video_preprocessor = kQwen3Video,
          .preprocessor_sizes = kQwenSizes,
          .has_mtp = true,
          .has_attention_interval = true};
}

constexpr VlFamily make_qwen3(string_view model_type, string_view architecture,
                              std::span<const VlText> texts, string_view vision) {
  VlFamily out = make_qwen35(model_type, architecture, texts, vision);
  out.tokens = kQwenTokens;
  out.mrope = {kQwen3Section, true};
  out.has_mtp = out.has_attention_interval = false;
  return out;
}

// Vision towers of the second generation differ by size, so there is no default configuration.
constexpr VlFamily make_qwen2(string_view model_type, string_view architecture,
                              std::span<const VlText> texts, string_view preprocessor,
                              string_view out_size_key) {
  VlFamily out = make_qwen3(model_type, architecture, texts, "");
  out.names = kSameNames;
  out.tokens = kQwen2Tokens;
  out.vision_stems = kOuterVisual;
  out.out_size_key = out_size_key;
  out.mrope = {kQwen2Section, false};
  out.preprocessor = preprocessor;
  out.video_preprocessor = "";
  return out;
}

constexpr VlFamily kVlFamilies[] = {
    make_qwen35("qwen3_5", "Qwen3_5ForConditionalGeneration", kQwen35Text,
                CKPT_QWEN3_VISION("qwen3_5_vision", "[]")),
    make_qwen35("qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration", kQwen35Moe,
                CKPT_QWEN3_VISION("qwen3_5_moe_vision", "[]")),
    make_qwen3("qwen3_vl", "Qwen3VLForConditionalGeneration", kQwen3Vl,
               CKPT_QWEN3_VISION("qwen3_vl", "[8, 16, 24]")),
    make_qwen3("qwen3_vl_moe", "Qwen3VLMoeForConditionalGeneration", kQwen3VlMoe,
               CKPT_QWEN3_VISION("qwen3_vl_moe", "[8, 16, 24]")),
    make_qwen2("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", kQwen25Vl,
               CKPT_QWEN2_PROCESSOR("Qwen2_5_VLProcessor"), "out_hidden_size"),
    make_qwen2("qwen2_vl", "Qwen2VLForConditionalGeneration", kQwen2Vl,
               CKPT_QWEN2_PROCESSOR("Qwen2VLProcessor"), "hidden_size"),
    {.model_type = "gemma3",
     .architecture = "Gemma3ForConditionalGeneration",
     .texts = kGemma3,
     .names = kBesideTower,
     .vision_stems = kTower,
     .tokens = kGemmaTokens,
     .top_members = R"({"mm_tokens_per_image": 256})",
     .vision_config = kGemmaVision,
     .preprocessor = kGemmaPre,
     .processor = kGemmaProcessor,
     .preprocessor_sizes = kSquare},
    {.model_type = "mistral3",
     .architecture = "Mistral3ForConditionalGeneration",
     .texts = kMistral3,
     .names = kBesideTower,
     .vision_stems = kTower,
     .tokens = kMistralTokens,
     .top_members = R"({"multimodal_projector_bias": false,
                 "projector_hidden_act": "gelu", "spatial_merge_size": 2,
                 "vision_feature_layer": -1})",
     .vision_config = kPixtral,
     .preprocessor = kPixtralPre,
     .processor = kPixtralProcessor,
     .preprocessor_sizes = kLongest,
     .processor_sizes = kPatch},
    {.model_type = "llama4",
     .architecture = "Llama4ForConditionalGeneration",
     .texts = kLlama4,
     .names = kBesideTower,
     .vision_stems = kVisionModel,
     .tokens = kLlama4Tokens,
     .vision_config = kLlama4Vision,
     .preprocessor = kLlama4Pre,
     .processor = kLlama4Processor,
     .preprocessor_sizes = kSquare,
     .processor_sizes = kPatch},
    {.model_type = "internvl",
     .architecture = "InternVLForConditionalGeneration",
     .texts = kInternVl,
     .names = kBesideTower,
     .vision_stems = kTower,
     .tokens = kInternTokens,
     .preprocessor = kInternPre,
     .processor = kInternProcessor},
    // Remote code: the text model's config has another key, and there are no defaults.
    {.model_type = "internvl_chat",
     .architecture = "InternVLChatModel",
     .text_key = "llm_config",
     .texts = kInternVl,
     .names = kBesideTower,
     .vision_stems = kVisionMlp},
};

}  // namespace

std::span<const VlFamily> all_vl_families() { return kVlFamilies; }

const VlFamily* find_vl_family(std::string_view model_type) {
  return find_by(kVlFamilies, &VlFamily::model_type, model_type);
}

const VlText* find_vl_text(const VlFamily& family, std::string_view text_model_type) {
  const auto found = std::ranges::find_if(family.texts, [&](const VlText& text) {
    return text.inside == text_model_type || text.outside == text_model_type;
  });
  return found == family.texts.end() ? nullptr : &*found;
}

std::vector<const VlFamily*> vl_families_for_text(std::string_view text_model_type) {
  std::vector<const VlFamily*> out;
  for (const VlFamily& family : kVlFamilies) {
    if (find_vl_text(family, text_model_type) != nullptr) out.push_back(&family);
  }
  return out;
}

}  // namespace ckpt
