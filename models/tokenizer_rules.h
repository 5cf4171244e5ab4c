// How the class of a family reads its tokenizer, as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ckpt {

// How BPE with byte fallback in a tokenizer.json is converted.
enum class ByteFallback : uint8_t { kRefused, kAsLlama, kAsGemma4 };
enum class PieceFile : uint8_t { kIgnored, kPreferred, kRequired };

// A chat template that goes with a class, because its folders have none. The texts are JSON.
struct ChatOfClass {
  const std::string_view* text = nullptr;
  std::string_view part = {};  // of a folder's name, which then gets `other`
  const std::string_view* other = nullptr;
};

// How the class of a family reads its tokenizer, where it is not byte-level BPE alone.
struct TokenizerRules {
  PieceFile piece_file = PieceFile::kIgnored;  // tokenizer.model; preferred to tokenizer.json
  ByteFallback byte_fallback = ByteFallback::kRefused;
  std::string_view ranks = {};     // name of the pre-tokenizer that goes with ranks_file
  std::string_view ranks_file = "tiktoken.model";
  std::string_view ranked_specials = {};  // behind the ranks, in front of <|extra_0|> and so on
  std::optional<uint64_t> bos_id = {};  // said last, whatever the files say
  bool keeps_added_texts = false;  // added tokens as Phi-3's class has them
  bool is_llama = false;          // writes add_prefix_space; two sizes of vocabulary are exceptions
  bool says_prefix_last = false;  // add_prefix_space, behind all other keys
  std::optional<uint64_t> end_of_turn_id = {};  // where no file speaks of one
  bool adds_bos = false;                        // said last, whatever the files say
  std::optional<bool> adds_space_prefix = {};   // said last, whatever the files say
  std::string_view end_of_chat = {};  // the special token that becomes EOS
  bool is_internlm2 = false;  // has pieces of its own kind, and a key for the first space
  bool prefers_template_file = false;  // chat_template.jinja, in the converter too
  std::string_view control_token = {};  // a token of this text is one
  bool ends_by_config = false;  // EOT: the first of several EOS in config.json that is not BOS
  bool ends_by_generation = false;  // EOT: the first of several EOS in generation_config.json
  bool takes_eos_of_config = false;  // said last, where config.json has eos_token_id
  ChatOfClass chat = {};
  std::string_view special_tokens = {};  // "bos=[GO] eot=<end>": where nothing else names them
  // An encoder: WordPiece and unigram vocabularies are taken, and a key has the number of segments
  // ("token types").
  bool is_encoder = false;
  // An encoder like T5: unigram pieces keep their numbers, and no segments are distinguished.
  bool is_t5 = false;
  std::string_view first_flags = {};  // "bos=true sep=true": said first, files may say otherwise
  // Follows converters of releases after v0.5.0. For them a ByteLevel post-processor means that
  // neither BOS nor EOS is added, and it takes precedence over flags of tokenizer_config.json.
  bool is_after_v050 = false;
};

}  // namespace ckpt
