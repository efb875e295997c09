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
    if (NodeOf(name_.name).kind == Kind::kEncoding) {
      WriteEncoding(name_.name, parts_.everything);
    } else {
      Write(name_.name);
    }
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
        return WriteList(text_.ends_with('<') ? " <" : "<", id, ">");
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
      case Kind::kExpansion:
        return WriteExpansion(node);
      case Kind::kEncoding:
        return parts_.everything ? WriteEncoding(id, true) : Write(node.first);
      case Kind::kPrefixed:
      case Kind::kSpecial:
        Append(node.text);
        return Write(node.first);
      case Kind::kUnary:
        Append(node.text);
        if (NodeOf(node.first).kind == Kind::kEncoding) return WriteAddressed(node.first);
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
        if (NodeOf(node.first).kind == Kind::kFunction) return;  // the text is on the right
        Append(node.text);
        return Write(node.second);
      case Kind::kPointer:
        WriteLeft(node.first);
        if (IsCollapsed(node)) return;
        Append(DeclaratorStart(node.first));
        return Append(node.text);
      case Kind::kMember:
        WriteLeft(node.second);
        Append(IsDeclarator(node.second) ? DeclaratorStart(node.second) : " ");
        Write(node.first);
        return Append("::*");
      case Kind::kFunction:
        return WriteResult(node.first);
      default:  // kArray
        return WriteLeft(node.first);
    }
  }
  void WriteResult(Id type) {
    WriteLeft(type);
    if (!text_.ends_with("(*")) Append(" ");
  }

  void WriteRight(Id id) {
    if (!Enter()) return;
    const NameNode& node = NodeOf(id);
    switch (node.kind) {
      case Kind::kSuffixed:
        WriteRight(node.first);
        if (NodeOf(node.first).kind == Kind::kFunction) Append(node.text);
        break;
      case Kind::kPointer:
        WriteDeclaratorEnd(node);
        break;
      case Kind::kMember:
        Append(IsDeclarator(node.second) ? ")" : "");
        WriteRight(node.second);
        break;
      case Kind::kFunction:
        WriteTypes("(", name_.ListOf(id), ")");
        WriteRight(node.first);
        break;
      case Kind::kArray:
        Append(" [");
        Write(node.second);
        Append("]");
        WriteRight(node.first);
        break;
      case Kind::kParameter:
        if (!is_in_lambda_) WriteRight(ArgumentOf(node));
        break;
      default:
        break;
    }
    --levels_;
  }
  void WriteDeclaratorEnd(const NameNode& pointer) {
    if (IsDeclarator(pointer.first) && !IsCollapsed(pointer)) Append(")");
    WriteRight(pointer.first);
  }

  // Returns the node of a type without qualifiers of a function, where a parameter is its argument.
  const NameNode& TypeOf(Id id) const {
    const NameNode& node = NodeOf(id);
    if (node.kind == Kind::kParameter && !is_in_lambda_) return NodeOf(ArgumentOf(node));
    const bool is_qualified = node.kind == Kind::kSuffixed;
    return is_qualified && NodeOf(node.first).kind == Kind::kFunction ? NodeOf(node.first) : node;
  }
  // Returns whether the node is a reference to a template argument that is a reference already.
  bool IsCollapsed(const NameNode& node) const {
    if (node.text == "*" || NodeOf(node.first).kind != Kind::kParameter) return false;
    const NameNode& argument = TypeOf(node.first);
    return argument.kind == Kind::kPointer && (argument.text == "&" || node.text == argument.text);
  }
  bool IsDeclarator(Id id) const {
    return TypeOf(id).kind == Kind::kFunction || TypeOf(id).kind == Kind::kArray;
  }
  std::string_view DeclaratorStart(Id id) const {
    if (!IsDeclarator(id) || text_.ends_with("(*")) return IsDeclarator(id) ? "(" : "";
    return TypeOf(id).kind == Kind::kArray ? " (" : "(";
  }

  bool NeedsParentheses(const NameNode& node) const {
    const bool is_text = node.kind == Kind::kText;
    if (node.kind == Kind::kScoped) return false;
    if (!parts_.everything && (is_text || node.kind == Kind::kTemplate)) return false;
    return !is_text || node.text == "true" || node.text == "false" ||
           node.text.find_first_of("0123456789") == 0;
  }
  void WriteOperand(Id id) {
    if (!NeedsParentheses(NodeOf(id))) return Write(id);
    Append("(");
    Write(id);
    Append(")");
  }

  void WriteList(std::string_view start, Id id, std::string_view end) {
    WriteItems(start, name_.ListOf(id), end);
  }
  // Writes items, without packs that are empty.
  void WriteItems(std::string_view start, const std::vector<Id>& items, std::string_view end) {
    Append(start);
    bool is_first = true;
    for (const Id item : items) {
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
    if (parts_.everything && end == ">" && text_.ends_with('>')) Append(" ");
    Append(end);
  }

  // Writes the parts of a scope that distinguish it, with the :: behind them.
  void WriteScope(Id id) {
    const NameNode& node = NodeOf(id);
    if (!parts_.scopes && !parts_.everything) {
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

  // Writes a function that contains another part: without its parameters, and a lambda without its
  // operator().
  void WriteFunction(Id id) {
    const NameNode& node = NodeOf(id);
    if (node.kind == Kind::kEncoding) {
      return parts_.everything ? WriteEncoding(id, false) : WriteFunction(node.first);
    }
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
    WriteTypes("{lambda(", name_.ListOf(id), fmt::format(")#{}}}", node.number));
    is_in_lambda_ = was_in_lambda;
  }

  // The template arguments that a lambda refers to are its own.
  void WriteParameter(const NameNode& node) {
    if (is_in_lambda_) return Append(fmt::format("auto:{}", node.number + 1));
    const Id argument = ArgumentOf(node);
    if (argument == kNoName) failed_ = true;
    WriteLeft(argument);
  }
  // Returns the argument of the innermost function for its template parameter, or kNoName. In an
  // expansion, a pack is its current element.
  Id ArgumentOf(const NameNode& parameter) const {
    const Id argument = ItemOf(function_, parameter.number);
    const bool is_pack = NodeOf(argument).kind == Kind::kPack;
    return is_pack && in_expansion_ ? ItemOf(argument, element_) : argument;
  }
  Id ItemOf(Id of, std::size_t index) const {
    const NameNode& node = NodeOf(of);
    return index < node.list_size ? name_.lists[node.list_begin + index] : kNoName;
  }

  // Writes the pattern for each element of the first pack that it contains.
  void WriteExpansion(const NameNode& node) {
    const Id pack = PackIn(node.first);
    if (pack == kNoName) return Write(node.first);
    const bool was_in_expansion = std::exchange(in_expansion_, true);
    const std::size_t before = std::exchange(element_, 0);
    std::string_view separator;
    for (; element_ < NodeOf(pack).list_size && !failed_; ++element_) {
      Append(separator);
      Write(node.first);
      separator = ", ";
    }
    element_ = before;
    in_expansion_ = was_in_expansion;
  }
  Id PackIn(Id id) {
    if (id == kNoName || !Enter()) return kNoName;
    const NameNode& node = NodeOf(id);
    Id pack = kNoName;
    if (node.kind == Kind::kParameter && !is_in_lambda_) {
      const Id argument = ItemOf(function_, node.number);
      if (NodeOf(argument).kind == Kind::kPack) pack = argument;
    } else {
      pack = PackIn(node.first);
      if (pack == kNoName) pack = PackIn(node.second);
      for (const Id item : name_.ListOf(id)) {
        if (pack == kNoName) pack = PackIn(item);
      }
    }
    --levels_;
    return pack;
  }

  // Writes a function with its types: the return type, if there is one and `with_result`, and the
  // parameters.
  void WriteEncoding(Id id, bool with_result) {
    if (!Enter()) return;
    const NameNode& node = NodeOf(id);
    const Id outer = function_;
    const Id inner = TemplateOf(node.first);
    std::vector<Id> types = name_.ListOf(id);
    Id result = kNoName;
    if (HasResult(inner) && !types.empty()) {  // then the types begin with it
      result = types[0];
      types.erase(types.begin());
    }
    with_result = with_result && result != kNoName;
    function_ = inner;
    if (with_result) {
      WriteResult(result);
    }
    function_ = outer;
    Write(node.first);
    function_ = inner;
    const bool is_function = name_.nodes[id].list_size > 0;
    if (is_function && (parts_.everything || parts_.parameters)) WriteTypes("(", types, ")");
    if (parts_.everything) WriteQualifiers(node.text);
    if (with_result) WriteRight(result);
    function_ = outer;
    --levels_;
  }
  // Returns the template of a function, or kNoName if the function is not a template.
  Id TemplateOf(Id function) const {
    while (NodeOf(function).kind == Kind::kLocal) function = NodeOf(function).second;
    return NodeOf(function).kind == Kind::kTemplate ? function : kNoName;
  }
  bool HasResult(Id function_template) const {
    if (function_template == kNoName) return false;
    Id function = NodeOf(function_template).first;
    if (NodeOf(function).kind == Kind::kScoped) function = NodeOf(function).second;
    return NodeOf(function).kind != Kind::kSpecial;
  }
  // Writes the types of parameters. No parameters are mangled as one of the type void.
  void WriteTypes(std::string_view start, std::vector<Id> types, std::string_view end) {
    if (types.size() == 1 && NodeOf(types[0]).text == "void") types.clear();
    WriteItems(start, types, end);
  }
  void WriteQualifiers(std::string_view qualifiers) {
    constexpr std::pair<char, std::string_view> kTexts[] = {
        {'K', " const"}, {'V', " volatile"}, {'r', " __restrict"}, {'R', " &"}, {'O', " &&"}};
    for (const auto& [qualifier, text] : kTexts) {
      if (qualifiers.find(qualifier) != std::string_view::npos) Append(text);
    }
  }

  // Writes the operand of &. c++filt omits the types of functions with a scope.
  void WriteAddressed(Id id) {
    const NameNode& node = NodeOf(id);
    const bool is_scoped = NodeOf(node.first).kind == Kind::kScoped;
    if (!parts_.everything || is_scoped) return Write(node.first);
    Append("(");
    WriteEncoding(id, true);
    Append(")");
  }

  const ParsedName& name_;
  const NameParts parts_;
  std::string text_;
  std::size_t steps_ = 0;
  std::size_t levels_ = 0;
  Id function_ = kNoName;  // template to whose arguments parameters refer
  bool is_in_lambda_ = false;
  bool in_expansion_ = false;
  std::size_t element_ = 0;  // of the pack, in an expansion
  bool failed_ = false;
};

}  // namespace

std::string NameText(const ParsedName& name, NameParts parts) {
  return NameWriter(name, parts).Text();
}

}  // namespace stemtap::model
