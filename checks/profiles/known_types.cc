// Which values of model_type and tokenizer_class each program knows.
//
// Sources: transformers src/transformers/models/auto/configuration_auto.py (CONFIG_MAPPING_NAMES)
// and tokenization_auto.py (TOKENIZER_MAPPING_NAMES) of 4.57.6, 5.6.0, 5.17.0 and 5.19.0; vLLM
// vllm/transformers_utils/config.py (_CONFIG_REGISTRY); SGLang
// python/sglang/srt/utils/hf_transformers/common.py (_CONFIG_REGISTRY).
#include "checks/profiles/profiles.h"
#include "core/base/words.h"

namespace ckpt {
namespace {

// Known to 4.57 and to 5.x.
constexpr std::string_view kTypesAll =
    " aimv2 aimv2_vision_model albert align altclip apertus arcee aria aria_text"
    " audio-spectrogram-transformer autoformer aya_vision bamba bark bart beit bert bert-generation"
    " big_bird bigbird_pegasus biogpt bit bitnet blenderbot blenderbot-small blip blip-2"
    " blip_2_qformer bloom blt bridgetower bros camembert canine chameleon chinese_clip"
    " chinese_clip_vision_model clap clip clip_text_model clip_vision_model clipseg clvp codegen"
    " cohere cohere2 cohere2_vision colpali colqwen2 conditional_detr convbert convnext"
    " convnextv2 cpmant csm ctrl cvt d_fine dab-detr dac data2vec-audio data2vec-text"
    " data2vec-vision dbrx deberta deberta-v2 decision_transformer deepseek_v2 deepseek_v3 "
    "deepseek_vl"
    " deepseek_vl_hybrid deformable_detr deit depth_anything depth_pro detr dia diffllama dinat"
    " dinov2 dinov2_with_registers dinov3_convnext dinov3_vit distilbert doge donut-swin dots1"
    " dpr dpt edgetam edgetam_video edgetam_vision_model efficientloftr efficientnet electra"
    " emu3 encodec encoder-decoder eomt ernie ernie4_5 ernie4_5_moe esm evolla exaone4 falcon"
    " falcon_h1 falcon_mamba fastspeech2_conformer fastspeech2_conformer_with_hifigan flaubert"
    " flava flex_olmo florence2 fnet focalnet fsmt funnel fuyu gemma gemma2 gemma3 gemma3_text"
    " gemma3n gemma3n_audio gemma3n_text gemma3n_vision git glm glm4 glm4_moe glm4v glm4v_moe"
    " glm4v_moe_text glm4v_text glpn got_ocr2 gpt-sw3 gpt2 gpt_bigcode gpt_neo gpt_neox"
    " gpt_neox_japanese gpt_oss gptj granite granite_speech granitemoe granitemoehybrid"
    " granitemoeshared grounding-dino groupvit helium hgnet_v2 hiera hubert hunyuan_v1_dense"
    " hunyuan_v1_moe ibert idefics idefics2 idefics3 idefics3_vision ijepa imagegpt informer"
    " instructblip instructblipvideo internvl internvl_vision jamba janus jetmoe kosmos-2"
    " kosmos-2.5 kyutai_speech_to_text layoutlm layoutlmv2 layoutlmv3 led levit lfm2 lfm2_vl"
    " lightglue lilt llama llama4 llama4_text llava llava_next llava_next_video llava_onevision"
    " longcat_flash longformer longt5 luke lxmert m2m_100 mamba mamba2 marian markuplm"
    " mask2former maskformer maskformer-swin mbart megatron-bert metaclip_2 mgp-str mimi minimax"
    " ministral mistral mistral3 mixtral mlcd mllama mm-grounding-dino mobilebert mobilenet_v1"
    " mobilenet_v2 mobilevit mobilevitv2 modernbert modernbert-decoder moonshine moshi mpnet mpt"
    " mra mt5 musicgen musicgen_melody mvp nemotron nllb-moe nougat nystromformer olmo olmo2"
    " olmo3 olmoe omdet-turbo oneformer openai-gpt opt ovis2 owlv2 owlvit paligemma parakeet_ctc"
    " parakeet_encoder patchtsmixer patchtst pegasus pegasus_x perceiver perception_lm persimmon"
    " phi phi3 phi4_multimodal phimoe pix2struct pixtral plbart poolformer pop2piano"
    " prompt_depth_anything prophetnet pvt pvt_v2 qwen2 qwen2_5_omni qwen2_5_vl qwen2_5_vl_text"
    " qwen2_audio qwen2_audio_encoder qwen2_moe qwen2_vl qwen2_vl_text qwen3 qwen3_moe"
    " qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe qwen3_vl_moe_text qwen3_vl_text rag"
    " recurrent_gemma reformer regnet rembert resnet roberta roberta-prelayernorm roc_bert"
    " roformer rt_detr rt_detr_resnet rt_detr_v2 rwkv sam sam2 sam2_hiera_det_model sam2_video"
    " sam2_vision_model sam_hq sam_hq_vision_model sam_vision_model seamless_m4t seamless_m4t_v2"
    " seed_oss segformer seggpt sew sew-d shieldgemma2 siglip siglip2 siglip2_vision_model"
    " siglip_vision_model smollm3 smolvlm smolvlm_vision speech-encoder-decoder speech_to_text"
    " speecht5 splinter squeezebert stablelm starcoder2 superglue superpoint swiftformer swin"
    " swin2sr swinv2 switch_transformers t5 t5gemma table-transformer tapas textnet"
    " time_series_transformer timesfm timesformer timm_backbone timm_wrapper trocr tvp udop umt5"
    " unispeech unispeech-sat univnet upernet vaultgemma video_llava videomae vilt vipllava"
    " vision-encoder-decoder vision-text-dual-encoder visual_bert vit vit_mae vit_msn vitdet"
    " vitmatte vitpose vitpose_backbone vits vivit vjepa2 voxtral voxtral_encoder wav2vec2"
    " wav2vec2-bert wav2vec2-conformer wavlm whisper xclip xcodec xglm xlm xlm-roberta"
    " xlm-roberta-xl xlnet xlstm xmod yolos yoso zamba zamba2 zoedepth ";

// Known to 4.57, gone in 5.x.
constexpr std::string_view kTypesUntil4 =
    " code_llama deta efficientformer ernie_m gptsan-japanese granitevision graphormer jukebox"
    " mctct mega nat nezha open-llama perception_encoder qdqbert realm retribert"
    " speech_to_text_2 trajectory_transformer transfo-xl tvlt van vit_hybrid xlm-prophetnet ";

// Since 5.6 at the latest.
constexpr std::string_view kTypesFrom5_6 =
    " EvollaModel afmoe aimv2_text_model align_text_model align_vision_model altclip_text_model"
    " altclip_vision_model audioflamingo3 audioflamingo3_encoder blip_2_vision_model"
    " blip_text_model blip_vision_model blt_global_transformer blt_local_decoder"
    " blt_local_encoder blt_patcher bridgetower_text_model bridgetower_vision_model"
    " chameleon_vqgan chinese_clip_text_model chmv2 clap_audio_model clap_text_model"
    " clipseg_text_model clipseg_vision_model clvp_decoder clvp_encoder cohere_asr"
    " colmodernvbert csm_depth_decoder_model cwm dia_decoder dia_encoder emu3_text_model"
    " emu3_vqgan eomt_dinov3 ernie4_5_vl_moe ernie4_5_vl_moe_text ernie4_5_vl_moe_vision"
    " eurobert exaone_moe fast_vlm fastspeech2_conformer_hifigan flava_image_model"
    " flava_multimodal_model flava_text_model florence_vision gemma4 gemma4_audio gemma4_text"
    " gemma4_vision git_vision_model glm46v glm4_moe_lite glm4v_moe_vision glm4v_vision"
    " glm_image glm_image_text glm_image_vision glm_image_vqmodel glm_moe_dsa glm_ocr"
    " glm_ocr_text glm_ocr_vision glmasr glmasr_encoder granite_speech_encoder"
    " groupvit_text_model groupvit_vision_model higgs_audio_v2 higgs_audio_v2_tokenizer hy_v3"
    " idefics2_perceiver idefics2_vision idefics_perciever idefics_vision instructblip_qformer"
    " instructblip_vision_model instructblipvideo_qformer instructblipvideo_vision_model jais2"
    " janus_vision_model janus_vqgan jina_embeddings_v3 kosmos_2_5_text_model"
    " kosmos_2_5_vision_model kosmos_2_text_model kosmos_2_vision_model lasr_ctc lasr_encoder"
    " layoutxlm lfm2_moe lighton_ocr llama4_vision_model lw_detr lw_detr_vit"
    " metaclip_2_text_model metaclip_2_vision_model minimax_m2 ministral3 mistral4"
    " mlcd_vision_model mllama_text_model mllama_vision_model modernvbert moonshine_streaming"
    " moonshine_streaming_encoder moshi_depth musicflamingo musicgen_decoder"
    " musicgen_melody_decoder nanochat nemotron_h nomic_bert olmo_hybrid openai_privacy_filter"
    " owlv2_text_model owlv2_vision_model owlvit_text_model owlvit_vision_model paddleocr_vl"
    " paddleocr_vl_text paddleocr_vl_vision pe_audio pe_audio_encoder pe_audio_video"
    " pe_audio_video_encoder pe_video pe_video_encoder phi4_multimodal_audio"
    " phi4_multimodal_vision pi0 pix2struct_text_model pix2struct_vision_model pixio"
    " pp_chart2table pp_doclayout_v2 pp_doclayout_v3 pp_lcnet pp_lcnet_v3 pp_ocrv5_mobile_det"
    " pp_ocrv5_mobile_rec pp_ocrv5_server_det pp_ocrv5_server_rec qianfan_ocr qianfan_ocr_vision"
    " qwen2_5_omni_audio_encoder qwen2_5_omni_bigvgan qwen2_5_omni_dit qwen2_5_omni_talker"
    " qwen2_5_omni_text qwen2_5_omni_thinker qwen2_5_omni_token2wav qwen2_5_omni_vision_encoder"
    " qwen2_5_vl_vision qwen2_vl_vision qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_moe_vision"
    " qwen3_5_text qwen3_5_vision qwen3_omni_moe_audio_encoder"
    " qwen3_omni_moe_talker_code_predictor qwen3_omni_moe_talker_text qwen3_omni_moe_text"
    " qwen3_omni_moe_thinker qwen3_omni_moe_vision_encoder qwen3_vl_moe_vision qwen3_vl_vision"
    " sam3 sam3_detr_decoder sam3_detr_encoder sam3_geometry_encoder sam3_lite_text"
    " sam3_lite_text_detr_decoder sam3_lite_text_detr_encoder sam3_lite_text_geometry_encoder"
    " sam3_lite_text_mask_decoder sam3_lite_text_text_model sam3_mask_decoder sam3_tracker"
    " sam3_tracker_video sam3_video sam3_vision_model sam3_vit_model siglip2_text_model"
    " siglip_text_model slanet slanext solar_open speecht5_hifigan t5_gemma_module t5gemma2"
    " t5gemma2_decoder t5gemma2_encoder t5gemma2_text timesfm2_5 uvdoc uvdoc_backbone"
    " vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_decoder"
    " vibevoice_acoustic_tokenizer_encoder vibevoice_asr video_llama_3 video_llama_3_vision"
    " videomt voxtral_realtime voxtral_realtime_encoder voxtral_realtime_text xclip_text_model"
    " xclip_vision_model youtu ";

// Since 5.17 at the latest.
constexpr std::string_view kTypesFrom5_17 =
    " axk1 axk2 canary canary_decoder cohere2_moe cohere_compass cohere_compass_text"
    " cohere_compass_vision cosmos3_edge cosmos3_edge_text cosmos3_edge_vision cosmos3_omni"
    " deepseek_ocr2 deepseek_ocr2_encoder deepseek_ocr2_sam_vision_model deepseek_ocr2_text"
    " deepseek_ocr2_vision deepseek_v32 deepseek_v4 deimv2 diffusion_gemma diffusion_gemma_text"
    " esmc esmfold2 exaone4_5 exaone4_5_vision fun_asr_nano fun_asr_nano_encoder"
    " gemma4_assistant gemma4_unified gemma4_unified_assistant gemma4_unified_audio"
    " gemma4_unified_text gemma4_unified_vision glm5_next glm5_next_text glm5_next_vision glmga"
    " granite4_vision granite4_vision_text granite_speech5_ctc granite_speech5_encoder"
    " granite_speech_plus granite_speech_plus_encoder granite_swa granitemoe_swa hrm_text"
    " hunyuan_vl hunyuan_vl_text hunyuan_vl_vision hy_v4 hyperclovax inkling_audio"
    " inkling_mm_model inkling_text inkling_vision kimi_k25 kimi_k25_vision kimi_linear laguna"
    " mellum mimo_v2_flash minicpm3 minicpmv4_6 minicpmv4_6_vision minimax_m3_vl"
    " minimax_m3_vl_text minimax_m3_vl_vision muse_glimmer muse_glimmer_assistant"
    " muse_glimmer_text muse_glimmer_vision nemotron3_5_asr nemotron_asr_streaming"
    " nemotron_asr_streaming_encoder neomme neucodec parakeet_rnnt parakeet_tdt pp_formulanet"
    " pp_lcnet_v4 pp_ocrv6_medium_det pp_ocrv6_small_det pp_ocrv6_small_rec pp_ocrv6_tiny_rec"
    " qwen3_asr qwen3_asr_encoder qwen4_exp qwen4_exp_text qwen4_exp_vision radio rf_detr"
    " rf_detr_dinov2 sapiens2 sapiens2_head step3p5 step3p5_vision step3p7 tipsv2 tipsv2_dpt"
    " tipsv2_text_model tipsv2_vision_model vibevoice videoprism videoprism_text_model"
    " videoprism_vision_model xcodec2 zaya ";

// Since 5.19.
constexpr std::string_view kTypesFrom5_19 =
    " embedding_gemma2 embedding_gemma2_text gte hyperclovax_vision_v2 minicpmv4_7"
    " minicpmv4_7_vision nemotron3_diarization nemotron3_diarization_audio nemotron_h_omni ";

// vLLM 0.17.1's own.
constexpr std::string_view kTypesVllm17 =
    " RefinedWeb RefinedWebModel afmoe bagel chatglm colmodernvbert colqwen3 deepseek_v32"
    " deepseek_vl_v2 eagle funaudiochat hunyuan_vl isaac jais kimi_k25 kimi_linear kimi_vl"
    " lfm2_moe medusa midashenglm mlp_speculator ops_colqwen3 ovis qwen3_5 qwen3_5_moe qwen3_asr"
    " qwen3_vl_nemotron_embed speculators step3_text step3_vl step3p5 tarsier2 ultravox ";

// vLLM 0.32.0's own.
constexpr std::string_view kTypesVllm32 =
    " RefinedWeb RefinedWebModel bagel bailing_moe_v3_vl chatglm colqwen3 deepseek_vl_v2"
    " dots3_note eagle funaudiochat inkling_model isaac k3_dspark kimi_k2 kimi_k3 kimi_vl medusa"
    " midashenglm minimax_m3_mtp mlp_speculator moondream3 moss_transcribe_diarize openvla"
    " ops_colqwen3 ovis qwen3_vl_nemotron_embed speculators step3_text step3_vl ultravox"
    " unlimited_ocr ";

// SGLang 0.5.12's own.
constexpr std::string_view kTypesSglang =
    " NemotronH_Nano_Omni_Reasoning_V3 NemotronH_Nano_VL_V2 bailing_hybrid chatglm deepseek-ocr"
    " deepseek_v32 deepseek_v4 deepseek_vl_v2 dots_ocr dots_vlm exaone intern_s2_preview"
    " internvl_chat jet_nemotron jet_vlm kimi_k2 kimi_k25 kimi_linear kimi_vl laguna minicpmv4_6"
    " minicpmv4_6_vision multi_modality step3_vl step3p5 ";

// Known to 4.57 and to 5.x.
constexpr std::string_view kTokenizersAll =
    " AlbertTokenizer BartTokenizer BarthezTokenizer BartphoTokenizer BertGenerationTokenizer"
    " BertJapaneseTokenizer BertTokenizer BertweetTokenizer BigBirdTokenizer BioGptTokenizer"
    " BlenderbotSmallTokenizer BlenderbotTokenizer ByT5Tokenizer CLIPTokenizer CTRLTokenizer"
    " CamembertTokenizer CanineTokenizer ClvpTokenizer CodeLlamaTokenizer CpmAntTokenizer"
    " CpmTokenizer DPRQuestionEncoderTokenizer DebertaTokenizer DebertaV2Tokenizer DiaTokenizer"
    " EsmTokenizer FNetTokenizer FSMTTokenizer FlaubertTokenizer FunnelTokenizer GPT2Tokenizer"
    " GPTNeoXJapaneseTokenizer GPTSw3Tokenizer GemmaTokenizer HerbertTokenizer LEDTokenizer"
    " LayoutLMv2Tokenizer LayoutLMv3Tokenizer LayoutXLMTokenizer LlamaTokenizer LukeTokenizer"
    " LxmertTokenizer M2M100Tokenizer MBart50Tokenizer MBartTokenizer MLukeTokenizer"
    " MPNetTokenizer MarianTokenizer MgpstrTokenizer MobileBertTokenizer MvpTokenizer"
    " MyT5Tokenizer NllbTokenizer OpenAIGPTTokenizer PLBartTokenizer PegasusTokenizer"
    " PerceiverTokenizer PhobertTokenizer PreTrainedTokenizerFast ProphetNetTokenizer"
    " Qwen2Tokenizer Qwen2TokenizerFast RagTokenizer ReformerTokenizer RemBertTokenizer"
    " RoCBertTokenizer RoFormerTokenizer RobertaTokenizer SeamlessM4TTokenizer SiglipTokenizer"
    " Speech2TextTokenizer SpeechT5Tokenizer SplinterTokenizer T5Tokenizer TapasTokenizer"
    " UdopTokenizer VitsTokenizer Wav2Vec2CTCTokenizer Wav2Vec2PhonemeCTCTokenizer"
    " WhisperTokenizer XGLMTokenizer XLMRobertaTokenizer XLMTokenizer XLNetTokenizer ";

// Known to 4.57, gone in 5.x (5.x reads their files with its own class).
constexpr std::string_view kTokenizersUntil4 =
    " AlbertTokenizerFast BartTokenizerFast BarthezTokenizerFast BertTokenizerFast"
    " BigBirdTokenizerFast BlenderbotTokenizerFast BloomTokenizerFast CLIPTokenizerFast"
    " CamembertTokenizerFast CodeGenTokenizer CodeGenTokenizerFast CodeLlamaTokenizerFast"
    " CohereTokenizerFast ConvBertTokenizer ConvBertTokenizerFast CpmTokenizerFast"
    " DPRQuestionEncoderTokenizerFast DebertaTokenizerFast DebertaV2TokenizerFast"
    " DistilBertTokenizer DistilBertTokenizerFast ElectraTokenizer ElectraTokenizerFast"
    " ErnieMTokenizer FNetTokenizerFast FunnelTokenizerFast GPT2TokenizerFast"
    " GPTNeoXTokenizerFast GPTSanJapaneseTokenizer GemmaTokenizerFast HerbertTokenizerFast"
    " JukeboxTokenizer LEDTokenizerFast LayoutLMTokenizer LayoutLMTokenizerFast"
    " LayoutLMv2TokenizerFast LayoutLMv3TokenizerFast LayoutXLMTokenizerFast LlamaTokenizerFast"
    " LongformerTokenizer LongformerTokenizerFast LxmertTokenizerFast MBart50TokenizerFast"
    " MBartTokenizerFast MPNetTokenizerFast MT5Tokenizer MT5TokenizerFast MistralCommonTokenizer"
    " MobileBertTokenizerFast MvpTokenizerFast NllbTokenizerFast OpenAIGPTTokenizerFast"
    " ParakeetCTCTokenizer PegasusTokenizerFast RealmTokenizer RealmTokenizerFast"
    " ReformerTokenizerFast RemBertTokenizerFast RetriBertTokenizer RetriBertTokenizerFast"
    " RoFormerTokenizerFast RobertaTokenizerFast SeamlessM4TTokenizerFast Speech2Text2Tokenizer"
    " SplinterTokenizerFast SqueezeBertTokenizer SqueezeBertTokenizerFast T5TokenizerFast"
    " TapexTokenizer TransfoXLTokenizer UdopTokenizerFast WhisperTokenizerFast XGLMTokenizerFast"
    " XLMProphetNetTokenizer XLMRobertaTokenizerFast XLNetTokenizerFast ";

bool is_type_of_transformers(Names names, std::string_view type) {
  if (has_word(kTypesAll, type)) return true;
  switch (names) {
    case Names::kVllm16:
    case Names::kVllm17:
    case Names::kTransformers4:
      return has_word(kTypesUntil4, type);
    case Names::kSglang:
      return has_word(kTypesFrom5_6, type);
    case Names::kTransformers5:
      return has_word(kTypesFrom5_6, type) || has_word(kTypesFrom5_17, type);
    case Names::kVllm32:
      return has_word(kTypesFrom5_6, type) || has_word(kTypesFrom5_17, type) ||
             has_word(kTypesFrom5_19, type);
  }
  return false;
}

}  // namespace

bool knows_model_type(const Profile& profile, std::string_view type) {
  if (profile.program == Program::kLlamaCpp || profile.program == Program::kTensorrt) return true;
  if (is_type_of_transformers(profile.names, type)) return true;
  switch (profile.names) {
    case Names::kVllm16:  // the releases differ in these two
      return !type.starts_with("qwen3_5") && has_word(kTypesVllm17, type);
    case Names::kVllm17:
      return has_word(kTypesVllm17, type);
    case Names::kVllm32:
      return has_word(kTypesVllm32, type);
    case Names::kSglang:
      return has_word(kTypesSglang, type);
    default:
      return false;
  }
}

bool knows_tokenizer_class(const Profile& profile, std::string_view name) {
  // 5.x reads any tokenizer.json with its own class, whatever name is given.
  if (!profile.reads_old_tokenizers_alone()) return true;
  const auto is_known = [](const std::string& candidate) {
    return has_word(kTokenizersAll, candidate) || has_word(kTokenizersUntil4, candidate);
  };
  return is_known(std::string(name)) || is_known(std::string(name) + "Fast");
}

}  // namespace ckpt
