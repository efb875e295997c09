// SPDX-License-Identifier: Apache-2.0
#include "model/name_text.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

namespace stemtap::model {
namespace {

using Id = NameId;
using Kind = NameNode::Kind;

// NameWriter writes nodes recursively. A type is written in two halves, left and right of what it
// declares: `void (*` and `)(int)`.
class NameWriter {
 public:
  NameWriter(const ParsedName& name, NameParts parts) : name_(name), parts_(parts) {}

  std::string Text() {
    Write(name_.name);
    if (parts_.parameters) WriteParameters();
    return failed_ ? std::string() : std::move(text_);
  }

 private:
  const NameNode& NodeOf(Id id) const { return name_.nodes[id]; }

  void Append(std::string_view text) {
    if (text_.size() + text.size() > kMaxNameText) failed_ = true;
    if (!failed_) text_ += text;
  }

  // Returns whether one more node may be written; if so, the caller decrements `levels_` after it.
  bool Enter() {
    if (++steps_ > kMaxNameSteps || levels_ >= kMaxNameLevels) failed_ = true;
    if (!failed_) ++levels_;
    return !failed_;
  }

  void Write(Id id) {
    WriteLeft(id);
    WriteRight(id);
  }

  void WriteLeft(Id id) {
    if (!Enter()) return;
    WriteNode(id, NodeOf(id));
    --levels_;
  }

  void WriteNode(Id id, const NameNode& node) {
    switch (node.kind) {
      case Kind::kText:
        return Append(node.text);
      case Kind::kScoped:
        WriteScope(node.first);
        return Write(node.second);
      case Kind::kTemplate:
        Write(node.first);
        return WriteList("<", id, ">");
      case Kind::kLocal:
        return WriteLocal(node, &NameWriter::Write);
      case Kind::kLambda:
        return WriteLambda(id, node);
      case Kind::kUnnamed:
        return Append(fmt::format("{{unnamed type#{}}}", node.number));
      case Kind::kParameter:
        return WriteParameter(node);
      case Kind::kPack:
        return WriteList("", id, "");
      case Kind::kPrefixed:
        Append(node.text);
        return Write(node.first);
      case Kind::kUnary:
        Append(node.text);
        return WriteOperand(node.first);
      case Kind::kBinary:
        WriteOperand(node.first);
        Append(node.text);
        return WriteOperand(node.second);
      case Kind::kCall:
        Write(node.first);
        return WriteList("(", id, ")");
      default:
        return WriteType(node);
    }
  }

  void WriteType(const NameNode& node) {
    switch (node.kind) {
      case Kind::kSuffixed:
        WriteLeft(node.first);
        Append(node.text);
        return Write(node.second);
      case Kind::kPointer:
        WriteLeft(node.first);
        if (IsDeclarator(node.first)) Append(DeclaratorStart(node.first));
        return Append(node.text);
      case Kind::kMember:
        WriteLeft(node.second);
        Append(IsDeclarator(node.second) ? DeclaratorStart(node.second) : " ");
        Write(node.first);
        return Append("::*");
      case Kind::kFunction:
        Write(node.first);
        return Append(" ");
      default:  // kArray
        return WriteLeft(node.first);
    }
  }

  void WriteRight(Id id) {
    if (!Enter()) return;
    const NameNode& node = NodeOf(id);
    if (node.kind == Kind::kSuffixed) WriteRight(node.first);
    if (node.kind == Kind::kPointer) WriteDeclaratorEnd(node.first);
    if (node.kind == Kind::kMember) WriteDeclaratorEnd(node.second);
    if (node.kind == Kind::kFunction) WriteList("(", id, ")");
    if (node.kind == Kind::kArray) {
      Append(" [");
      Write(node.second);
      Append("]");
      WriteRight(node.first);
    }
    --levels_;
  }

  bool IsDeclarator(Id id) const {
    return NodeOf(id).kind == Kind::kFunction || NodeOf(id).kind == Kind::kArray;
  }
  std::string_view DeclaratorStart(Id id) const {
    return NodeOf(id).kind == Kind::kArray ? " (" : "(";
  }
  void WriteDeclaratorEnd(Id of) {
    if (IsDeclarator(of)) Append(")");
    WriteRight(of);
  }

  void WriteOperand(Id id) {
    const Kind kind = NodeOf(id).kind;
    if (kind == Kind::kText || kind == Kind::kScoped || kind == Kind::kTemplate) return Write(id);
    Append("(");
    Write(id);
    Append(")");
  }

  // Writes what the list contains, without packs that are empty.
  void WriteList(std::string_view start, Id id, std::string_view end) {
    Append(start);
    bool is_first = true;
    for (const Id item : name_.ListOf(id)) {
      const std::size_t before = text_.size();
      if (!is_first) Append(", ");
      const std::size_t begin = text_.size();
      Write(item);
      if (failed_) return;
      if (text_.size() == begin) {
        text_.resize(before);
      } else {
        is_first = false;
      }
    }
    Append(end);
  }

  // Writes the parts of a scope that distinguish it, with the :: behind them.
  void WriteScope(Id id) {
    const NameNode& node = NodeOf(id);
    if (!parts_.scopes) {
      if (node.kind == Kind::kText) return;
      if (node.kind == Kind::kScoped && NodeOf(node.second).kind == Kind::kText) {
        return WriteInner(node.first);
      }
    }
    Write(id);
    Append("::");
  }
  void WriteInner(Id scope) {
    if (!Enter()) return;
    WriteScope(scope);
    --levels_;
  }

  // Writes a function that contains another part, without its parameters. A lambda is not followed
  // by its operator().
  void WriteFunction(Id id) {
    const NameNode& node = NodeOf(id);
    if (node.kind == Kind::kLocal) return WriteLocal(node, &NameWriter::WriteFunction);
    const bool is_scoped = node.kind == Kind::kScoped;
    Write(is_scoped && NodeOf(node.first).kind == Kind::kLambda ? node.first : id);
  }
  void WriteLocal(const NameNode& node, void (NameWriter::*write_inner)(Id)) {
    if (!Enter()) return;
    WriteFunction(node.first);
    Append("::");
    (this->*write_inner)(node.second);
    --levels_;
  }

  void WriteLambda(Id id, const NameNode& node) {
    const bool was_in_lambda = std::exchange(is_in_lambda_, true);
    WriteList("{lambda(", id, fmt::format(")#{}}}", node.number));
    is_in_lambda_ = was_in_lambda;
  }

  // The template arguments that a lambda refers to are its own.
  void WriteParameter(const NameNode& node) {
    if (is_in_lambda_) return Append(fmt::format("auto:{}", node.number + 1));
    Id of = name_.name;
    while (NodeOf(of).kind == Kind::kLocal) of = NodeOf(of).second;
    const std::vector<Id> arguments = name_.ListOf(of);
    if (NodeOf(of).kind != Kind::kTemplate || node.number >= arguments.size()) {
      failed_ = true;
      return;
    }
    Write(arguments[node.number]);
  }

  // The types of a function template begin with its return type.
  void WriteParameters() {
    std::vector<Id> types = name_.ListOf(name_.parameters);
    if (NodeOf(name_.name).kind == Kind::kTemplate && !types.empty()) types.erase(types.begin());
    if (types.size() == 1 && NodeOf(types[0]).text == "void") types.clear();
    std::string_view separator;
    Append("(");
    for (const Id type : types) {
      Append(separator);
      Write(type);
      separator = ", ";
    }
    Append(")");
  }

  const ParsedName& name_;
  const NameParts parts_;
  std::string text_;
  std::size_t steps_ = 0;
  std::size_t levels_ = 0;
  bool is_in_lambda_ = false;
  bool failed_ = false;
};

}  // namespace

std::string NameText(const ParsedName& name, NameParts parts) {
  return NameWriter(name, parts).Text();
}

}  // namespace stemtap::model
