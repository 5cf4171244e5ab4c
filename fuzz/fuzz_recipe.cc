// A recipe: comments, steps and their options.
#include "fuzz/fuzz.h"
#include "plan/text/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const std::string text(fuzz::as_text(data, size));
  FUZZ_LAW(without_comments(text).size() == text.size());
  const auto recipe = parse_recipe("folder/recipe.json", text);
  if (!recipe) FUZZ_LAW(!recipe.error().what.empty());
  return 0;
}
