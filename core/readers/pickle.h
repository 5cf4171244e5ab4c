// Reads a pickle as data: resolves no names, and builds and runs nothing.
//
//   opcodes ──▶ a stack machine over nodes ──▶ the node that STOP leaves
//
// In a pickle "call f(x)" is an ordinary value. Here it becomes a node kCall. Only two calls are
// interpreted: torch.Size(x) becomes its tuple, and collections.OrderedDict() without arguments
// becomes a dict. A number of more than 8 bytes is kNone. Nodes refer to each other by index, so a
// pickle can neither overflow the stack by nesting nor form cycles of ownership. Source: CPython
// Lib/pickletools.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace ckpt {

class Pickle {
 public:
  using NodeIndex = uint32_t;
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kBytes,
    kList,
    kDict,
    kName,
    kCall
  };
  struct Node {
    Kind kind = Kind::kNone;
    int64_t whole = 0;             // kInt, kBool
    double real = 0;               // kFloat
    std::string text;              // kText, kBytes; kName: "torch bfloat16"
    std::vector<NodeIndex> items;  // kList (tuples too); kDict: key, value, key, value;
                                   // kCall: the callable, its arguments
    bool is_changed = false;       // kCall: state or items are set on the result
    std::optional<NodeIndex> state = {};  // kCall: the last state set on the result
  };

  // Fails: kCorrupt: truncated, pops from an empty stack; kUnsupported: an unknown opcode.
  // `start_byte` is the position of `bytes` in the file, for errors.
  static Result<Pickle> parse(std::string_view bytes, uint64_t start_byte = 0);

  const Node& root() const { return nodes_[root_]; }
  const Node& node(NodeIndex index) const { return nodes_[index]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // The value of a text key in a dict; nullptr if it is absent or the node is not a dict.
  const Node* find(const Node& dict, std::string_view key) const;
  // Does the same for a key that is a whole number.
  const Node* find(const Node& dict, int64_t key) const;
  // The class of the object `node`, such as "pathlib PosixPath"; empty if it is not an object.
  std::string_view made_by(const Node& node) const;
  // The object's state, and a field of it (a dict or (None, dict)); nullptr if absent.
  const Node* state(const Node& node) const;
  const Node* field(const Node& node, std::string_view key) const;
  // Up to `limit` whole numbers >= 0; nullopt for anything else.
  std::optional<std::vector<uint64_t>> numbers(const Node* node, size_t limit) const;

 private:
  friend class PickleMachine;
  template <class IsKey>
  const Node* find_key(const Node& dict, const IsKey& is_key) const;
  std::vector<Node> nodes_;
  NodeIndex root_ = 0;
};

}  // namespace ckpt
