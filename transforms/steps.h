// The steps, one source file each; transforms.cc lists them.
#pragma once

#include "core/model/transform.h"

namespace ckpt {

extern const Transform kAwqFoldRepair;
extern const Transform kCast;
extern const Transform kConfigEdit;
extern const Transform kDequantize;
extern const Transform kDrop;
extern const Transform kExperts;
extern const Transform kExport;
extern const Transform kFromGguf;
extern const Transform kGraft;
extern const Transform kMetadataEdit;
extern const Transform kMixedToNvfp4;
extern const Transform kNvfp4Layout;
extern const Transform kPreprocessor;
extern const Transform kQuantize;
extern const Transform kRename;
extern const Transform kServingConfig;
extern const Transform kToGguf;
extern const Transform kToMmproj;
extern const Transform kTokenizer;
extern const Transform kVlUnwrap;
extern const Transform kVlWrap;

}  // namespace ckpt
