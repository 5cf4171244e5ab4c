// The tokenizer's documents: fixed, compared with another folder's, turned into GGUF keys.
//
// The input holds several files (fuzz.h split_files); those under "base/" are the other folder's.
// Law: fixing what was fixed changes nothing.
#include "fuzz/fuzz.h"
#include "plan/conversion/steps.h"
#include "quantizers/quantizers.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"
#include "transforms/tokenizer/compare.h"

namespace {

using namespace ckpt;

Result<Checkpoint> run(std::string_view typed, const Checkpoint& checkpoint,
                       const Context& context) {
  auto step = parse_step(typed);
  FUZZ_LAW(step.has_value());
  return step->transform->apply(checkpoint, step->options, context);
}

void expect_same_documents(const Checkpoint& a, const Checkpoint& b) {
  FUZZ_LAW(a.documents.size() == b.documents.size());
  for (const Document& document : a.documents) {
    const Document* other = b.find_document(document.path);
    FUZZ_LAW(other != nullptr && other->text() == document.text());
  }
}

void fix_checkpoint(const Checkpoint& checkpoint, const Context& context) {
  constexpr std::string_view kMend = "tokenizer:for=transformers-4.57,slow=yes";
  const auto once = run(kMend, checkpoint, context);
  if (!once) return;
  const auto twice = run(kMend, *once, context);
  FUZZ_LAW(twice.has_value());
  expect_same_documents(*once, *twice);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto files = fuzz::split_files(fuzz::as_text(data, size));
  const Checkpoint ours = fuzz::make_checkpoint(files, "", all_codecs());
  const Checkpoint theirs = fuzz::make_checkpoint(files, "base/", all_codecs());
  std::vector<std::string> notes;
  Context context = step_context(&notes, {});
  context.open = [&](const auto&) { return Result<Checkpoint>(theirs); };
  context.documents = [&](const auto&) { return Result<std::vector<Document>>(theirs.documents); };
  fix_checkpoint(ours, context);
  (void)run("tokenizer:from=base,accept=rules,accept=special", ours, context);
  if (ours.find_document(kTokenizerJson) != nullptr) {
    const auto compared = compare_tokenizers(ours, ours);
    if (compared) FUZZ_LAW(compared->empty());
  }
  for (const auto& vocab_size : {std::optional<uint64_t>(), std::optional<uint64_t>(300)}) {
    Metadata metadata;
    TokenizerOptions options;
    options.vocab_size = vocab_size;
    if (vocab_size) options.pre_name = "qwen2";
    (void)add_tokenizer_keys(ours, options, context, metadata);
  }
  Checkpoint gguf;
  gguf.format = "gguf";
  Metadata metadata;
  if (add_tokenizer_keys(ours, {.pre_name = "qwen2"}, context, metadata)) {
    gguf.metadata = metadata;
    (void)run("tokenizer:from=base,pre=qwen2", gguf, context);
  }
  return 0;
}
