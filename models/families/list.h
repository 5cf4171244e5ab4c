// The list of families.
#pragma once

#include "models/models.h"

namespace ckpt {

// One line a family, which models/families defines. The way back takes the first of one name that
// fits: OLMo 3 is OLMo 2 with windows.
#define CKPT_FAMILIES(FAMILY) \
  FAMILY(kQwen35)             \
  FAMILY(kQwen35Moe)          \
  FAMILY(kQwen3)              \
  FAMILY(kQwen3Moe)           \
  FAMILY(kQwen2)              \
  FAMILY(kQwen2Moe)           \
  FAMILY(kLlama)              \
  FAMILY(kMistral)            \
  FAMILY(kMixtral)            \
  FAMILY(kPhi3)               \
  FAMILY(kGemma)              \
  FAMILY(kGemma2)             \
  FAMILY(kGemma3)             \
  FAMILY(kGemma4)             \
  FAMILY(kSmolLm3)            \
  FAMILY(kOlmo3)              \
  FAMILY(kOlmo2)              \
  FAMILY(kSeedOss)            \
  FAMILY(kMiniMaxM2)          \
  FAMILY(kGlm4Moe)            \
  FAMILY(kMinistral3)         \
  FAMILY(kMistral3)           \
  FAMILY(kLfm2)               \
  FAMILY(kLfm2Moe)            \
  FAMILY(kQwen3Next)          \
  FAMILY(kGptOss)             \
  FAMILY(kLlama4)             \
  FAMILY(kDeepseekV3)         \
  FAMILY(kGlmMoeDsa)          \
  FAMILY(kGlm4MoeLite)        \
  FAMILY(kGranite3)           \
  FAMILY(kGranite3Moe)        \
  FAMILY(kGranite3Shared)     \
  FAMILY(kGraniteHybrid)      \
  FAMILY(kNemotronH)          \
  FAMILY(kQwen3Vl)            \
  FAMILY(kQwen3VlMoe)         \
  FAMILY(kOlmo)               \
  FAMILY(kOlmoe)              \
  FAMILY(kExaone4)            \
  FAMILY(kGlm4)               \
  FAMILY(kStarcoder2)         \
  FAMILY(kStableLm)           \
  FAMILY(kCohere)             \
  FAMILY(kCohere2)            \
  FAMILY(kPhi2)               \
  FAMILY(kDeepseekV2)         \
  FAMILY(kPhiMoe)             \
  FAMILY(kErnie)              \
  FAMILY(kErnieMoe)           \
  FAMILY(kPaddleOcr)          \
  FAMILY(kGptNeox)            \
  FAMILY(kQwen2Vl)            \
  FAMILY(kQwen25Vl)           \
  FAMILY(kArcee)              \
  FAMILY(kDots1)              \
  FAMILY(kAfmoe)              \
  FAMILY(kExaoneMoe)          \
  FAMILY(kHyV3)               \
  FAMILY(kBailingMoe2)        \
  FAMILY(kDeepseekV32)        \
  FAMILY(kYoutu)              \
  FAMILY(kMistral4)           \
  FAMILY(kLlava)              \
  FAMILY(kGlm4v)              \
  FAMILY(kGlm4vMoe)           \
  FAMILY(kGlm)                \
  FAMILY(kCohere2Moe)         \
  FAMILY(kMiniCpm)            \
  FAMILY(kHunyuanDense)       \
  FAMILY(kInternLm3)          \
  FAMILY(kApertus)            \
  FAMILY(kGlmOcr)             \
  FAMILY(kMiniCpm3)           \
  FAMILY(kMiniCpmV46)         \
  FAMILY(kMamba2)             \
  FAMILY(kJamba)              \
  FAMILY(kFalconH1)           \
  FAMILY(kKimiLinear)         \
  FAMILY(kBailingMoe3)        \
  FAMILY(kMiniMaxM3)          \
  FAMILY(kBert)               \
  FAMILY(kXlmRoberta)         \
  FAMILY(kRoberta)            \
  FAMILY(kJinaBert)           \
  FAMILY(kModernBert)         \
  FAMILY(kNomicBert)          \
  FAMILY(kEuroBert)           \
  FAMILY(kGemmaEmbedding)     \
  FAMILY(kExaone)             \
  FAMILY(kStep35)             \
  FAMILY(kMimo2)              \
  FAMILY(kLaguna)             \
  FAMILY(kHunyuanMoe)         \
  FAMILY(kHunyuanVl)          \
  FAMILY(kInternLm2)          \
  FAMILY(kHyV4)               \
  FAMILY(kGemma3n)            \
  FAMILY(kT5)                 \
  FAMILY(kMt5)                \
  FAMILY(kUmt5)               \
  FAMILY(kT5Encoder)          \
  FAMILY(kQwen4Exp)           \
  FAMILY(kDeepseekV4)         \
  FAMILY(kKimiK3)             \
  FAMILY(kGlm5Next)

#define CKPT_DECLARE(family) extern const Family family;
CKPT_FAMILIES(CKPT_DECLARE)

}  // namespace ckpt
