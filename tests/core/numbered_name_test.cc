// Names of the files that a model was cut into.
#include "core/base/numbered_name.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TEST(NumberedName, NamesTheOtherFilesInTheSameLetters) {
  for (const char* name : {"m-00002-of-00012.gguf", "a/b-00002-of-00012.safetensors",
                           "m-00002-of-00012.SafeTensors", "M-00002-OF-00012.SAFETENSORS",
                           "pytorch_model-00002-of-00012.bin"}) {
    const auto found = parse_numbered(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->number, 2u) << name;
    EXPECT_EQ(found->count, 12u) << name;
    EXPECT_EQ(found->of(2), name);
  }
}

TEST(NumberedName, RejectsOtherNames) {
  for (const char* name : {"m.gguf", "-00001-of-00002.gguf", "m-00003-of-00002.gguf",
                           "m-00000-of-00002.gguf", "m-0001-of-00002.gguf", "m-00001-ob-00002.gguf",
                           "m-00001-of-00002.json", "m-00001-of-00002safetensors"}) {
    EXPECT_FALSE(parse_numbered(name)) << name;
  }
}

}  // namespace
}  // namespace ckpt
