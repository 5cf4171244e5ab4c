// Model classes of transformers that a server has none of its own for, and runs by transformers'
// code if that allows it: classes of causal models, of models with images, and of classifiers.
//
// Sources: transformers src/transformers/models/auto/modeling_auto.py of 4.57.6, 5.6.0 and 5.19.0;
// vLLM vllm/model_executor/models/registry.py (_try_resolve_transformers); SGLang 0.5.12
// python/sglang/srt/model_loader/utils.py (resolve_transformers_arch).
// A class of neither program ends the run, whatever model_type says.
#include "checks/profiles/profiles.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Of 4.57 and 5.x.
constexpr std::string_view kClassesBoth =
    " AlbertForSequenceClassification ArceeForSequenceClassification AriaTextForCausalLM"
    " BartForCausalLM BartForSequenceClassification BertGenerationDecoder BertLMHeadModel"
    " BigBirdForCausalLM BigBirdForSequenceClassification BigBirdPegasusForCausalLM"
    " BigBirdPegasusForSequenceClassification BioGptForCausalLM"
    " BioGptForSequenceClassification BitNetForCausalLM BlenderbotForCausalLM"
    " BlenderbotSmallForCausalLM BlipForConditionalGeneration BloomForSequenceClassification"
    " BltForCausalLM CTRLForSequenceClassification CTRLLMHeadModel CamembertForCausalLM"
    " CamembertForSequenceClassification CanineForSequenceClassification CodeGenForCausalLM"
    " ConvBertForSequenceClassification CpmAntForCausalLM Data2VecTextForCausalLM"
    " Data2VecTextForSequenceClassification DebertaForSequenceClassification"
    " DebertaV2ForSequenceClassification DeepseekV2ForSequenceClassification"
    " DeepseekV3ForSequenceClassification DeepseekVLForConditionalGeneration"
    " DeepseekVLHybridForConditionalGeneration DiffLlamaForCausalLM"
    " DiffLlamaForSequenceClassification DistilBertForSequenceClassification DogeForCausalLM"
    " DogeForSequenceClassification ElectraForCausalLM ElectraForSequenceClassification"
    " Emu3ForCausalLM ErnieForCausalLM ErnieForSequenceClassification"
    " EsmForSequenceClassification EvollaForProteinText2Text Exaone4ForSequenceClassification"
    " FNetForSequenceClassification FalconForSequenceClassification"
    " FlaubertForSequenceClassification Florence2ForConditionalGeneration"
    " FunnelForSequenceClassification GPTBigCodeForSequenceClassification"
    " GPTJForSequenceClassification GPTNeoForCausalLM GPTNeoForSequenceClassification"
    " GPTNeoXForSequenceClassification GPTNeoXJapaneseForCausalLM"
    " Gemma2ForSequenceClassification Gemma3ForSequenceClassification"
    " Gemma3TextForSequenceClassification GemmaForSequenceClassification GitForCausalLM"
    " Glm4ForSequenceClassification GlmForSequenceClassification"
    " GotOcr2ForConditionalGeneration GptOssForSequenceClassification HeliumForCausalLM"
    " HeliumForSequenceClassification HunYuanDenseV1ForSequenceClassification"
    " HunYuanMoEV1ForSequenceClassification IBertForSequenceClassification"
    " Idefics2ForConditionalGeneration IdeficsForVisionText2Text"
    " InstructBlipForConditionalGeneration JanusForConditionalGeneration JetMoeForCausalLM"
    " JetMoeForSequenceClassification Kosmos2ForConditionalGeneration"
    " Kosmos2_5ForConditionalGeneration LayoutLMForSequenceClassification"
    " LayoutLMv2ForSequenceClassification LayoutLMv3ForSequenceClassification"
    " LiltForSequenceClassification LlamaForSequenceClassification"
    " LongformerForSequenceClassification LukeForSequenceClassification MBartForCausalLM"
    " MBartForSequenceClassification MPNetForSequenceClassification"
    " MT5ForSequenceClassification MarianForCausalLM MarkupLMForSequenceClassification"
    " MegatronBertForCausalLM MegatronBertForSequenceClassification"
    " MiniMaxForSequenceClassification MinistralForCausalLM MinistralForSequenceClassification"
    " MistralForSequenceClassification MixtralForSequenceClassification MllamaForCausalLM"
    " MllamaForConditionalGeneration MobileBertForSequenceClassification"
    " ModernBertDecoderForCausalLM ModernBertDecoderForSequenceClassification MoshiForCausalLM"
    " MptForSequenceClassification MraForSequenceClassification MusicgenForCausalLM"
    " MusicgenMelodyForCausalLM MvpForCausalLM MvpForSequenceClassification"
    " NemotronForSequenceClassification NystromformerForSequenceClassification"
    " OPTForSequenceClassification OpenAIGPTForSequenceClassification OpenAIGPTLMHeadModel"
    " Ovis2ForConditionalGeneration PLBartForCausalLM PLBartForSequenceClassification"
    " PegasusForCausalLM PerceiverForSequenceClassification"
    " PerceptionLMForConditionalGeneration PersimmonForSequenceClassification"
    " Phi3ForSequenceClassification Phi4MultimodalForCausalLM PhiForSequenceClassification"
    " PhimoeForCausalLM PhimoeForSequenceClassification Pix2StructForConditionalGeneration"
    " ProphetNetForCausalLM Qwen2ForSequenceClassification Qwen2MoeForSequenceClassification"
    " Qwen3ForSequenceClassification Qwen3MoeForSequenceClassification"
    " Qwen3NextForSequenceClassification RecurrentGemmaForCausalLM"
    " ReformerForSequenceClassification ReformerModelWithLMHead RemBertForCausalLM"
    " RemBertForSequenceClassification RoCBertForCausalLM RoCBertForSequenceClassification"
    " RoFormerForCausalLM RoFormerForSequenceClassification RobertaForCausalLM"
    " RobertaPreLayerNormForCausalLM RobertaPreLayerNormForSequenceClassification"
    " RwkvForCausalLM SeedOssForSequenceClassification SmolLM3ForSequenceClassification"
    " SqueezeBertForSequenceClassification StableLmForSequenceClassification"
    " Starcoder2ForSequenceClassification T5ForSequenceClassification"
    " T5GemmaForSequenceClassification TapasForSequenceClassification TrOCRForCausalLM"
    " UMT5ForSequenceClassification UdopForConditionalGeneration"
    " VipLlavaForConditionalGeneration VisionEncoderDecoderModel WhisperForCausalLM"
    " XGLMForCausalLM XLMForSequenceClassification XLMRobertaForCausalLM"
    " XLMRobertaXLForCausalLM XLMRobertaXLForSequenceClassification XLMWithLMHeadModel"
    " XLNetForSequenceClassification XLNetLMHeadModel XmodForCausalLM"
    " XmodForSequenceClassification YosoForSequenceClassification"
    " Zamba2ForSequenceClassification ZambaForCausalLM ZambaForSequenceClassification"
    " xLSTMForCausalLM ";

// Of 4.57 alone.
constexpr std::string_view kClasses4 =
    " ErnieMForSequenceClassification LEDForSequenceClassification MegaForCausalLM"
    " MegaForSequenceClassification NezhaForSequenceClassification OpenLlamaForCausalLM"
    " OpenLlamaForSequenceClassification QDQBertForSequenceClassification QDQBertLMHeadModel"
    " Speech2Text2ForCausalLM TransfoXLForSequenceClassification TransfoXLLMHeadModel"
    " XLMProphetNetForCausalLM ";

// Of 5.x alone.
constexpr std::string_view kClasses5 =
    " AXK1ForSequenceClassification AXK2ForCausalLM AXK2ForSequenceClassification"
    " CohereCompassForCausalLM CohereCompassTextForSequenceClassification"
    " Cosmos3OmniForConditionalGeneration DeepseekOcr2ForConditionalGeneration"
    " EsmcForSequenceClassification EuroBertForSequenceClassification"
    " FastVlmForConditionalGeneration Gemma4AssistantForCausalLM"
    " Gemma4UnifiedAssistantForCausalLM Gemma4UnifiedForCausalLM"
    " Glm46VForConditionalGeneration GteForSequenceClassification"
    " HyperCLOVAXVisionV2ForConditionalGeneration InstructBlipVideoForConditionalGeneration"
    " JinaEmbeddingsV3ForSequenceClassification Kimi_K25ForConditionalGeneration"
    " LightOnOcrForConditionalGeneration MiniCPM3ForSequenceClassification"
    " MiniMaxM3VLForCausalLM Ministral3ForSequenceClassification Mistral4ForCausalLM"
    " Mistral4ForSequenceClassification ModernVBertForSequenceClassification"
    " NanoChatForCausalLM NomicBertForSequenceClassification Olmo2ForSequenceClassification"
    " Olmo3ForSequenceClassification OlmoForSequenceClassification PI0ForConditionalGeneration"
    " PPFormulaNetForConditionalGeneration Qwen2_5OmniThinkerForConditionalGeneration"
    " Qwen3OmniMoeThinkerForConditionalGeneration Qwen3_5ForSequenceClassification"
    " Qwen3_5TextForSequenceClassification SolarOpenForCausalLM"
    " T5Gemma2ForConditionalGeneration T5Gemma2ForSequenceClassification"
    " VideoLlama3ForConditionalGeneration VideoLlavaForConditionalGeneration YoutuForCausalLM"
    " ZayaForCausalLM ";

// Those of 5.6 that say themselves that they can be run so, without classifiers; SGLang stops at
// others.
constexpr std::string_view kClassesSglangRuns =
    " AriaForConditionalGeneration AriaTextForCausalLM"
    " AudioFlamingo3ForConditionalGeneration AyaVisionForConditionalGeneration"
    " BertGenerationDecoder BertLMHeadModel BitNetForCausalLM"
    " Blip2ForConditionalGeneration CamembertForCausalLM ChameleonForConditionalGeneration"
    " Cohere2VisionForConditionalGeneration CwmForCausalLM Data2VecTextForCausalLM"
    " DogeForCausalLM Dots1ForCausalLM ElectraForCausalLM Emu3ForCausalLM"
    " Emu3ForConditionalGeneration Ernie4_5ForCausalLM ErnieForCausalLM"
    " ExaoneMoeForCausalLM FastVlmForConditionalGeneration FlexOlmoForCausalLM"
    " FuyuForCausalLM GPTNeoXForCausalLM Glm46VForConditionalGeneration GlmForCausalLM"
    " GotOcr2ForConditionalGeneration GraniteMoeSharedForCausalLM"
    " GraniteSpeechForConditionalGeneration HeliumForCausalLM"
    " Idefics2ForConditionalGeneration Idefics3ForConditionalGeneration"
    " IdeficsForVisionText2Text InstructBlipForConditionalGeneration"
    " InstructBlipVideoForConditionalGeneration InternVLForConditionalGeneration"
    " Jais2ForCausalLM JetMoeForCausalLM Kosmos2ForConditionalGeneration"
    " Kosmos2_5ForConditionalGeneration LightOnOcrForConditionalGeneration"
    " LlavaNextForConditionalGeneration LlavaNextVideoForConditionalGeneration"
    " LlavaOnevisionForConditionalGeneration MiniMaxForCausalLM MinistralForCausalLM"
    " Mistral4ForCausalLM MllamaForCausalLM ModernBertDecoderForCausalLM"
    " MusicFlamingoForConditionalGeneration NanoChatForCausalLM Olmo3ForCausalLM"
    " Ovis2ForConditionalGeneration PI0ForConditionalGeneration"
    " PaliGemmaForConditionalGeneration PerceptionLMForConditionalGeneration"
    " Phi4MultimodalForCausalLM PhimoeForCausalLM QianfanOCRForConditionalGeneration"
    " Qwen2_5OmniForConditionalGeneration Qwen2_5OmniThinkerForConditionalGeneration"
    " Qwen3OmniMoeThinkerForConditionalGeneration RoCBertForCausalLM RobertaForCausalLM"
    " RobertaPreLayerNormForCausalLM SeedOssForCausalLM SmolLM3ForCausalLM"
    " SmolVLMForConditionalGeneration SolarOpenForCausalLM"
    " T5Gemma2ForConditionalGeneration T5GemmaForConditionalGeneration"
    " VaultGemmaForCausalLM VibeVoiceAsrForConditionalGeneration"
    " VideoLlama3ForConditionalGeneration VideoLlavaForConditionalGeneration"
    " VipLlavaForConditionalGeneration VoxtralRealtimeForConditionalGeneration"
    " XLMRobertaForCausalLM XLMRobertaXLForCausalLM XmodForCausalLM YoutuForCausalLM ";

}  // namespace

bool has_fallback_class(const Profile& profile, std::string_view name) {
  if (profile.program == Program::kSglang) return has_word(kClassesSglangRuns, name);
  if (has_word(kClassesBoth, name)) return true;
  return has_word(profile.reads_old_tokenizers_alone() ? kClasses4 : kClasses5, name);
}

bool runs_by_fallback(const Profile& profile, std::string_view name) {
  // Classes that vLLM's list knows and has no code of its own for.
  constexpr std::string_view kListed = " SmolLM3ForCausalLM Emu3ForConditionalGeneration ";
  if (profile.program == Program::kVllm && has_word(kListed, name)) return true;
  return !knows_model_class(profile, name) && has_fallback_class(profile, name);
}

}  // namespace ckpt
