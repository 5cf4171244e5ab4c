// tokenizer.model: pieces, and the GGUF keys made of them.
//
// Law: what is read has one unknown piece, texts that differ, and gives as many tokens.
#include <algorithm>
#include <set>

#include "fuzz/fuzz.h"
#include "transforms/to_gguf/tokenizer/pieces_file.h"
#include "transforms/to_gguf/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ckpt;
  const std::string_view file = fuzz::as_text(data, size);
  const auto model = read_sentencepiece(file);
  Checkpoint checkpoint;
  checkpoint.set_document("tokenizer.model", std::string(file));
  TokenizerOptions options;
  options.rules.piece_file = PieceFile::kRequired;
  Metadata metadata;
  const auto added = add_tokenizer_keys(checkpoint, options, {}, metadata);
  FUZZ_LAW(added.has_value() == model.has_value());
  if (!model) return 0;
  std::set<std::string_view> texts;
  for (const auto& piece : model->pieces) FUZZ_LAW(texts.insert(piece.text).second);
  FUZZ_LAW(std::count_if(model->pieces.begin(), model->pieces.end(),
                         [](const auto& piece) { return piece.type == PieceType::kUnknown; }) == 1);
  const MetaValue* tokens = metadata.find("tokenizer.ggml.tokens");
  FUZZ_LAW(std::get<MetaArray>(tokens->value).count() == model->pieces.size());
  return 0;
}
