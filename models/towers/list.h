// The list of towers, and rows that several share.
#pragma once

#include "models/models.h"

namespace ckpt::towers {

using enum ServerCut;
using enum TowerChange;
using enum TowerStore;

extern const TowerTable kQwen2VlTower, kQwen25VlTower, kQwen3VlTower, kQwen35Tower;
extern const TowerTable kGlm4vTower, kGlmOcrTower, kMistral3Tower, kLlavaTower, kLlama4Tower;
extern const TowerTable kGemma3Tower, kGemma3nTower, kLfm2VlTower, kSmolVlmTower, kPaddleOcrTower;
extern const TowerTable kMiniCpmV46Tower, kGranite4VisionTower, kMiniMaxM3Tower;
extern const TowerTable kInternVlTower, kHunyuanVlTower, kGemma4Tower, kWhisperTower;

// Frames come in twos, and a projector has a tensor for each of the two.
inline constexpr TowerRule kPatchesOfFrames[] = {
    {"patch_embed.proj.weight",
     "v.patch_embd.weight",
     "hidden_size in_channels temporal_patch_size patch_size patch_size",
     kWhole,
     {.change = kFrames, .store = kPatches, .second = "v.patch_embd.weight.1"}},
};

}  // namespace ckpt::towers
