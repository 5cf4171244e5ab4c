// The type of llama-quantize that help and advice recommend.
#pragma once

#define CKPT_USUAL_TYPE "q4_k_m"
