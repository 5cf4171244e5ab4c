// Whisper's encoder before a language model: Voxtral and Ultravox. The folder of an Ultravox has no
// language model.
//
// Source: llama.cpp conversion/ultravox.py; defaults: transformers
// models/{voxtral,whisper}/configuration_*.py, and Fixie's configuration of Ultravox.
#include "transforms/to_mmproj/families/families.h"

namespace ckpt {
namespace {

constexpr TowerKey kVoxtralKeys[] = {
    {"audio.num_mel_bins", MetaType::kU32, "num_mel_bins", &ProjectorModel::audio},
    {"audio.attention.layer_norm_epsilon", MetaType::kF32, "layer_norm_eps",
     &ProjectorModel::audio},
    {"audio.projector.stack_factor", MetaType::kU32, "stack_factor", &ProjectorModel::audio},
};
constexpr TowerKey kUltravoxKeys[] = {
    kVoxtralKeys[0],
    kVoxtralKeys[1],
    {kVoxtralKeys[2].key, MetaType::kU32, "stack_factor", &ProjectorModel::root},
};

}  // namespace

const ProjectorFamily kVoxtralProjector = {
    .name = "voxtral",
    .architectures = "VoxtralForConditionalGeneration",
    .tower = "whisper",
    .text_defaults = R"({"hidden_size": 3072})",
    .audio_defaults = R"({"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32,
                          "num_attention_heads": 20, "num_mel_bins": 128, "layer_norm_eps": 1e-5,
                          "stack_factor": 4})",
    .keys = kVoxtralKeys,
};

const ProjectorFamily kUltravoxProjector = {
    .name = "ultravox",
    .architectures = "UltravoxModel",
    .tower = "whisper",
    .audio_defaults = R"({"layer_norm_eps": 1e-5})",
    .keys = kUltravoxKeys,
};

}  // namespace ckpt
