#include "quantizers/quantizers.h"

#include "quantizers/codec_list.h"

namespace ckpt {
namespace {

constexpr const Codec* kAllCodecs[] = {
#define CKPT_ADDRESS(name) &name,
    CKPT_CODECS(CKPT_ADDRESS)
#undef CKPT_ADDRESS
};

}  // namespace

Codecs all_codecs() { return kAllCodecs; }

}  // namespace ckpt
