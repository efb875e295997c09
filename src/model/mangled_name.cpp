// SPDX-License-Identifier: Apache-2.0
#include "model/mangled_name.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace stemtap::model {
namespace {

using Id = NameId;
using Kind = NameNode::Kind;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsUpper(char c) {
  return c >= 'A' && c <= 'Z';
}

std::string_view BuiltinType(char c) {
  static constexpr std::array<std::string_view, 26> kTypes = {"signed char",
                                                              "bool",
                                                              "char",
                                                              "double",
                                                              "long double",
                                                              "float",
                                                              "__float128",
                                                              "unsigned char",
                                                              "int",
                                                              "unsigned int",
                                                              "",
                                                              "long",
                                                              "unsigned long",
                                                              "__int128",
                                                              "unsigned __int128",
                                                              "",
                                                              "",
                                                              "",
                                                              "short",
                                                              "unsigned short",
                                                              "",
                                                              "void",
                                                              "wchar_t",
                                                              "long long",
                                                              "unsigned long long",
                                                              "..."};
  return c >= 'a' && c <= 'z' ? kTypes[static_cast<std::size_t>(c - 'a')] : std::string_view();
}

// The types whose code is D and a letter.
std::string_view BuiltinTypeD(char c) {
  switch (c) {
    case 'a':
      return "auto";
    case 'c':
      return "decltype(auto)";
    case 'd':
      return "decimal64";
    case 'e':
      return "decimal128";
    case 'f':
      return "decimal32";
    case 'h':
      return "half";
    case 'i':
      return "char32_t";
    case 'n':
      return "decltype(nullptr)";
    case 's':
      return "char16_t";
    case 'u':
      return "char8_t";
    default:
      return {};
  }
}

// The letters after S that abbreviate a name of the standard library.
std::string_view StandardName(char c) {
  switch (c) {
    case 'a':
      return "allocator";
    case 'b':
      return "basic_string";
    case 'd':
      return "iostream";
    case 'i':
      return "istream";
    case 'o':
      return "ostream";
    case 's':
      return "string";
    default:
      return {};
  }
}

struct Operator {
  std::string_view code;
  std::string_view text;
  int operands;  // in an expression; 0 if it is only part of a name or has its own grammar
};
constexpr Operator kOperators[] = {
    {"aN", "&=", 2},  {"aS", "=", 2},        {"aa", "&&", 2}, {"ad", "&", 1},
    {"an", "&", 2},   {"cl", "()", 0},       {"cm", ",", 2},  {"co", "~", 1},
    {"dV", "/=", 2},  {"da", "delete[]", 0}, {"de", "*", 1},  {"dl", "delete", 0},
    {"ds", ".*", 2},  {"dv", "/", 2},        {"eO", "^=", 2}, {"eo", "^", 2},
    {"eq", "==", 2},  {"ge", ">=", 2},       {"gt", ">", 2},  {"ix", "[]", 2},
    {"lS", "<<=", 2}, {"le", "<=", 2},       {"ls", "<<", 2}, {"lt", "<", 2},
    {"mI", "-=", 2},  {"mL", "*=", 2},       {"mi", "-", 2},  {"ml", "*", 2},
    {"mm", "--", 1},  {"na", "new[]", 0},    {"ne", "!=", 2}, {"ng", "-", 1},
    {"nt", "!", 1},   {"nw", "new", 0},      {"oR", "|=", 2}, {"oo", "||", 2},
    {"or", "|", 2},   {"pL", "+=", 2},       {"pl", "+", 2},  {"pm", "->*", 2},
    {"pp", "++", 1},  {"ps", "+", 1},        {"pt", "->", 0}, {"rM", "%=", 2},
    {"rS", ">>=", 2}, {"rm", "%", 2},        {"rs", ">>", 2}, {"ss", "<=>", 2},
};

const Operator* OperatorOf(std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const Operator& op) { return text.starts_with(op.code); });
  return found == std::end(kOperators) ? nullptr : found;
}

// NameParser is a recursive-descent parser of the grammar in section 5.1 of the Itanium C++ ABI.
// Its functions have the names of the productions. After an error, the rest of the name is empty,
// and all functions return kNoName.
class NameParser {
 public:
  explicit NameParser(std::string_view text) : left_(text) {}

  std::optional<ParsedName> Parse(bool with_types) {
    Expect("_Z");
    parsed_.name = with_types ? Encoding([this] { return left_.empty(); }) : Name();
    if (failed_) return std::nullopt;
    return std::move(parsed_);
  }

 private:
  // Level counts the nested productions.
  class Level {
   public:
    explicit Level(NameParser& parser) : parser_(parser) {
      if (++parser_.levels_ > kMaxNameLevels) parser_.Fail();
    }
    ~Level() { --parser_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    NameParser& parser_;
  };

  // Text.
  Id Fail() {
    failed_ = true;
    left_ = {};
    return kNoName;
  }
  char Peek(std::size_t at = 0) const { return at < left_.size() ? left_[at] : '\0'; }
  bool TakeIf(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }
  void Expect(std::string_view text) {
    if (!TakeIf(text)) Fail();
  }
  // Returns whether the list ends here, and takes its end.
  bool Ends() {
    if (left_.empty()) Fail();
    return failed_ || TakeIf("E");
  }
  // Takes the characters for which `is_part` is true.
  template <typename IsPart>
  std::string_view TakeWhile(IsPart is_part) {
    std::size_t size = 0;
    while (size < left_.size() && is_part(left_[size])) ++size;
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  // Returns the value of an optional number with its end '_', counted from 0: _ is 0, 0_ is 1.
  std::uint32_t Sequence(std::uint32_t base) {
    constexpr std::uint32_t kMaxSequence = 1'000'000;
    std::uint32_t value = 0;
    bool has_digits = false;
    while (IsDigit(Peek()) || (base == 36 && IsUpper(Peek()))) {
      const char c = Peek();
      value = value * base + static_cast<std::uint32_t>(IsDigit(c) ? c - '0' : c - 'A' + 10);
      has_digits = true;
      left_.remove_prefix(1);
      if (value > kMaxSequence) Fail();
    }
    Expect("_");
    return has_digits ? value + 1 : 0;
  }

  // Nodes.
  Id Add(const NameNode& node) {
    if (failed_) return kNoName;
    parsed_.nodes.push_back(node);
    return static_cast<Id>(parsed_.nodes.size() - 1);
  }
  Id Add(NameNode node, const std::vector<Id>& list) {
    node.list_begin = static_cast<std::uint32_t>(parsed_.lists.size());
    node.list_size = static_cast<std::uint32_t>(list.size());
    parsed_.lists.insert(parsed_.lists.end(), list.begin(), list.end());
    return Add(node);
  }
  Id AddText(std::string_view text) { return Add({.text = text}); }
  Id AddScoped(Id scope, Id name) {
    return scope == kNoName ? name : Add({.kind = Kind::kScoped, .first = scope, .second = name});
  }
  Id Expansion(Id pattern) { return Add({.kind = Kind::kExpansion, .first = pattern}); }
  // Returns the first part, then the second, with nothing between them.
  Id AddJoined(Id first, Id second) {
    return Add({.kind = Kind::kSuffixed, .first = first, .second = second});
  }
  Id Prefixed(std::string_view text, Id id) {
    return Add({.kind = Kind::kPrefixed, .first = id, .text = text});
  }
  Id Suffixed(Id id, std::string_view text) {
    return Add({.kind = Kind::kSuffixed, .first = id, .text = text});
  }
  Id AddStandard(Id name) { return AddScoped(AddText("std"), name); }
  Id Substitutable(Id id) {
    if (!failed_) substitutions_.push_back(id);
    return id;
  }
  // Returns a pack of the types up to an end.
  template <typename IsEnd>
  Id Types(IsEnd is_end) {
    std::vector<Id> types;
    while (!failed_ && !is_end()) types.push_back(Type());
    return Add({.kind = Kind::kPack}, types);
  }

  // Names.
  template <typename IsEnd>
  Id Encoding(IsEnd is_end) {
    const Id name = Name();
    const std::string_view qualifiers = qualifiers_;
    return Add({.kind = Kind::kEncoding, .first = name, .text = qualifiers},
               parsed_.ListOf(Types(is_end)));
  }
  Id Name() {
    const Level level(*this);
    if (Peek() == 'N') return NestedName();
    if (Peek() == 'Z') return LocalName();
    Id name = kNoName;
    if (Peek() == 'S' && Peek(1) != 't') {
      name = Substitution();
    } else {
      name = TakeIf("St") ? AddStandard(UnqualifiedName(kNoName)) : UnqualifiedName(kNoName);
      if (Peek() == 'I') Substitutable(name);
    }
    if (Peek() == 'I') name = TemplateOf(name);
    qualifiers_ = {};
    return name;
  }
  Id NestedName() {
    Expect("N");
    const std::string_view qualifiers = TakeWhile(
        [](char c) { return std::string_view("rVKRO").find(c) != std::string_view::npos; });
    Id prefix = kNoName;
    while (!Ends()) {
      if (Peek() == 'S') {
        if (prefix != kNoName) return Fail();
        prefix = TakeIf("St") ? AddText("std") : Substitution();
        continue;
      }
      prefix = PrefixPart(prefix);
      TakeIf("M");  // the next part is in the initializer of this member
      if (Peek() != 'E') Substitutable(prefix);
    }
    qualifiers_ = qualifiers;
    return prefix == kNoName ? Fail() : prefix;
  }
  Id PrefixPart(Id prefix) {
    if (Peek() == 'I') return TemplateOf(prefix);
    if (Peek() == 'T') return TemplateParameter();
    if (Peek() == 'D' && (Peek(1) == 't' || Peek(1) == 'T')) return Decltype();
    return AddScoped(prefix, UnqualifiedName(prefix));
  }
  Id LocalName() {
    Expect("Z");
    const Id function = Encoding([this] { return Ends(); });
    if (TakeIf("s")) {
      Discriminator();
      return Add({.kind = Kind::kLocal, .first = function, .second = AddText("string literal")});
    }
    if (TakeIf("d")) Sequence(10);
    const Id entity = Name();
    Discriminator();
    return Add({.kind = Kind::kLocal, .first = function, .second = entity});
  }
  void Discriminator() {
    if (TakeIf("__")) {
      TakeWhile(IsDigit);
      Expect("_");
    } else if (Peek() == '_' && IsDigit(Peek(1))) {
      left_.remove_prefix(2);
    }
  }
  Id UnqualifiedName(Id scope) {
    TakeIf("L");  // internal linkage
    Id name = kNoName;
    if (IsDigit(Peek())) {
      name = SourceName();
    } else if (TakeIf("Ul")) {
      name = Lambda();
    } else if (TakeIf("Ut")) {
      name = Add({.kind = Kind::kUnnamed, .number = Sequence(10) + 1});
    } else if (Peek() == 'C' || Peek() == 'D') {
      name = ConstructorOrDestructor(scope);
    } else {
      name = OperatorName();
    }
    while (TakeIf("B")) {  // an ABI tag
      const Id tag = Add({.kind = Kind::kPrefixed, .first = SourceName(), .text = "[abi:"});
      name = Suffixed(AddJoined(name, tag), "]");
    }
    return name;
  }
  std::string_view SourceText() {
    std::size_t length = 0;
    for (const char digit : TakeWhile(IsDigit)) {
      length = std::min(length * 10 + static_cast<std::size_t>(digit - '0'), kMaxMangledName);
    }
    if (length == 0 || length > left_.size()) {
      Fail();
      return {};
    }
    const std::string_view text = left_.substr(0, length);
    left_.remove_prefix(length);
    return text;
  }
  Id SourceName() {
    const std::string_view text = SourceText();
    return AddText(text.starts_with("_GLOBAL__N") ? "(anonymous namespace)" : text);
  }
  Id Lambda() {
    while (Peek() == 'T' && (Peek(1) == 'y' || Peek(1) == 'n')) {  // declared template parameters
      if (TakeIf("Tn")) Type();
      TakeIf("Ty");
    }
    const std::vector<Id> types = parsed_.ListOf(Types([this] { return Ends(); }));
    return Add({.kind = Kind::kLambda, .number = Sequence(10) + 1}, types);
  }
  // Returns the last part of the class.
  Id ConstructorOrDestructor(Id scope) {
    const bool destroys = Peek() == 'D';
    if (!IsDigit(Peek(1))) return Fail();
    left_.remove_prefix(2);
    for (const NameNode* node = &parsed_.nodes[scope];; node = &parsed_.nodes[scope]) {
      if (node->kind != Kind::kScoped && node->kind != Kind::kTemplate) break;
      scope = node->kind == Kind::kScoped ? node->second : node->first;
    }
    if (scope == kNoName) return Fail();
    return Add({.kind = Kind::kSpecial, .first = scope, .text = destroys ? "~" : ""});
  }
  Id OperatorName() {
    if (TakeIf("cv")) {
      return Add({.kind = Kind::kSpecial, .first = Type(), .text = "operator "});
    }
    if (TakeIf("li")) {
      return Add({.kind = Kind::kPrefixed, .first = SourceName(), .text = "operator\"\" "});
    }
    const Operator* const op = OperatorOf(left_);
    if (op == nullptr) return Fail();
    left_.remove_prefix(op->code.size());
    const bool is_word = op->text[0] >= 'a' && op->text[0] <= 'z';
    return Add({.kind = Kind::kPrefixed,
                .first = AddText(op->text),
                .text = is_word ? "operator " : "operator"});
  }
  Id Substitution() {
    Expect("S");
    const std::string_view standard = StandardName(Peek());
    if (!standard.empty()) {
      left_.remove_prefix(1);
      return AddStandard(AddText(standard));
    }
    const std::uint32_t index = Sequence(36);
    return failed_ || index >= substitutions_.size() ? Fail() : substitutions_[index];
  }
  Id TemplateParameter() {
    Expect("T");
    return Add({.kind = Kind::kParameter, .number = Sequence(10)});
  }

  // Template arguments.
  Id TemplateOf(Id name) {
    if (name == kNoName) return Fail();
    return Add({.kind = Kind::kTemplate, .first = name}, TemplateArguments());
  }
  std::vector<Id> TemplateArguments() {
    const Level level(*this);
    Expect("I");
    std::vector<Id> arguments;
    while (!Ends()) arguments.push_back(TemplateArgument());
    return arguments;
  }
  Id TemplateArgument() {
    const Level level(*this);
    if (Peek() == 'L') return PrimaryExpression();
    if (TakeIf("X")) {
      const Id expression = Expression();
      Expect("E");
      return expression;
    }
    if (TakeIf("J")) {
      std::vector<Id> arguments;
      while (!Ends()) arguments.push_back(TemplateArgument());
      return Add({.kind = Kind::kPack}, arguments);
    }
    return Type();
  }

  // Types.
  Id Type() {
    const Level level(*this);
    const char c = Peek();
    if (const std::string_view builtin = BuiltinType(c); !builtin.empty()) {
      left_.remove_prefix(1);
      return AddText(builtin);
    }
    switch (c) {
      case 'r':
      case 'V':
      case 'K':
        return Substitutable(QualifiedType());
      case 'P':
        return Pointer("*");
      case 'R':
        return Pointer("&");
      case 'O':
        return Pointer("&&");
      case 'F':
        return Substitutable(FunctionType());
      case 'A':
        return Substitutable(ArrayType());
      case 'M':
        return Substitutable(MemberPointer());
      case 'D':
        return TypeD();
      case 'T':
        return ParameterType();
      case 'S':
        return SubstitutedType();
      case 'u':
        left_.remove_prefix(1);
        return Substitutable(SourceName());
      case 'U':
        left_.remove_prefix(1);
        return VendorQualifiedType();
      default:
        return Substitutable(Name());
    }
  }
  Id QualifiedType() {
    const std::string_view qualifiers =
        TakeWhile([](char q) { return q == 'r' || q == 'V' || q == 'K'; });
    Id type = Peek() == 'F' ? FunctionType() : Type();
    for (std::size_t i = qualifiers.size(); i-- > 0;) {
      const char q = qualifiers[i];
      const std::string_view text = q == 'K' ? " const" : q == 'V' ? " volatile" : " restrict";
      type = Add({.kind = Kind::kSuffixed, .first = type, .text = text});
    }
    return type;
  }
  Id Pointer(std::string_view text) {
    left_.remove_prefix(1);
    return Substitutable(Add({.kind = Kind::kPointer, .first = Type(), .text = text}));
  }
  Id FunctionType() {
    Expect("F");
    TakeIf("Y");  // extern "C"
    const Id result = Type();
    const Id types = Types([this] {
      if ((Peek() == 'R' || Peek() == 'O') && Peek(1) == 'E') left_.remove_prefix(1);
      return Ends();
    });
    return Add({.kind = Kind::kFunction, .first = result}, parsed_.ListOf(types));
  }
  Id ArrayType() {
    Expect("A");
    Id extent = kNoName;
    if (IsDigit(Peek())) {
      extent = AddText(TakeWhile(IsDigit));
    } else if (Peek() != '_') {
      extent = Expression();
    }
    Expect("_");
    return Add({.kind = Kind::kArray, .first = Type(), .second = extent});
  }
  Id MemberPointer() {
    Expect("M");
    const Id of = Type();
    return Add({.kind = Kind::kMember, .first = of, .second = Type()});
  }
  Id TypeD() {
    if (const std::string_view builtin = BuiltinTypeD(Peek(1)); !builtin.empty()) {
      left_.remove_prefix(2);
      return AddText(builtin);
    }
    if (TakeIf("DF16b")) return AddText("std::bfloat16_t");
    if (TakeIf("DF")) return FloatType();
    if (TakeIf("Dp")) return Substitutable(Expansion(Type()));
    if (TakeIf("Do")) return Substitutable(FunctionType());
    if (TakeIf("Dv")) return Substitutable(VectorType());
    return Substitutable(Decltype());
  }
  Id FloatType() {
    const std::string_view bits = TakeWhile(IsDigit);
    if (!TakeIf("x")) Expect("_");
    return Add({.kind = Kind::kPrefixed, .first = AddText(bits), .text = "_Float"});
  }
  Id VectorType() {
    const Id size = Suffixed(AddText(TakeWhile(IsDigit)), ")");
    Expect("_");
    return AddJoined(Suffixed(Type(), " __vector("), size);
  }
  Id Decltype() {
    if (!TakeIf("Dt")) Expect("DT");
    const Id expression = Expression();
    Expect("E");
    return Add({.kind = Kind::kUnary, .first = expression, .text = "decltype "});
  }
  Id ParameterType() {
    if (const char kind = Peek(1); kind == 's' || kind == 'u' || kind == 'e') {  // struct, union
      left_.remove_prefix(2);
      return Substitutable(Name());
    }
    const Id parameter = Substitutable(TemplateParameter());
    return Peek() == 'I' ? Substitutable(TemplateOf(parameter)) : parameter;
  }
  Id SubstitutedType() {
    const bool is_reference = Peek(1) == '_' || IsDigit(Peek(1)) || IsUpper(Peek(1));
    if (!is_reference && Peek(1) == 't') return Substitutable(Name());
    const Id type = Substitution();
    return Peek() == 'I' ? Substitutable(TemplateOf(type)) : type;
  }
  Id VendorQualifiedType() {
    const Id qualifier = SourceName();
    const Id name = Peek() == 'I' ? TemplateOf(qualifier) : qualifier;
    const Id type = Add({.kind = Kind::kSuffixed, .first = Type(), .text = " "});
    return Substitutable(AddJoined(type, name));
  }

  // Expressions.
  Id PrimaryExpression() {
    Expect("L");
    if (TakeIf("_Z") || TakeIf("Z")) {
      return Encoding([this] { return Ends(); });
    }
    if (TakeIf("b0E")) return AddText("false");
    if (TakeIf("b1E")) return AddText("true");
    const char code = Peek();
    return Number(code, Type());
  }
  Id Number(char code, Id type) {
    const bool is_negative = TakeIf("n");
    Id number = AddText(TakeWhile([](char c) { return c != 'E'; }));
    if (is_negative) number = Prefixed("-", number);
    Expect("E");
    if (code == 'i') return number;
    constexpr std::pair<char, std::string_view> kSuffixes[] = {
        {'j', "u"}, {'l', "l"}, {'m', "ul"}, {'x', "ll"}, {'y', "ull"}};
    for (const auto& [of, suffix] : kSuffixes) {
      if (of == code) return Suffixed(number, suffix);
    }
    return AddJoined(Suffixed(Prefixed("(", type), ")"), number);
  }
  Id Expression() {
    const Level level(*this);
    const char c = Peek();
    if (c == 'L') return PrimaryExpression();
    if (c == 'T') return TemplateParameter();
    if (IsDigit(c) || left_.starts_with("on") || left_.starts_with("sr")) return UnresolvedName();
    if (TakeIf("sp")) return Expansion(Expression());
    if (TakeIf("st")) return Call("sizeof ", Type());
    if (TakeIf("sz")) return Call("sizeof ", Expression());
    if (TakeIf("sZ")) return Call("sizeof...", Expression());
    if (TakeIf("at")) return Call("alignof ", Type());
    if (TakeIf("az")) return Call("alignof ", Expression());
    if (TakeIf("nx")) return Call("noexcept", Expression());
    if (TakeIf("cl")) return Call(Expression());
    if (TakeIf("cv")) return Conversion();
    if (TakeIf("tl")) return Call(Type());
    if (TakeIf("il")) return Call(kNoName);
    if (TakeIf("dt")) return Binary(".", Expression());
    if (TakeIf("pt")) return Binary("->", Expression());
    if (TakeIf("qu")) return Conditional();
    return OperatorExpression();
  }
  Id Unary(std::string_view text, Id operand) {
    return Add({.kind = Kind::kUnary, .first = operand, .text = text});
  }
  Id Binary(std::string_view text, Id operand) {
    return Add({.kind = Kind::kBinary, .first = operand, .second = Expression(), .text = text});
  }
  Id Call(Id function) {
    std::vector<Id> operands;
    while (!Ends()) operands.push_back(Expression());
    return Add({.kind = Kind::kCall, .first = function}, operands);
  }
  Id Call(std::string_view function, Id operand) {
    return Add({.kind = Kind::kCall, .first = AddText(function)}, {operand});
  }
  Id Conversion() {
    const Id type = Type();
    return TakeIf("_") ? Call(type) : Add({.kind = Kind::kCall, .first = type}, {Expression()});
  }
  Id Conditional() {
    const Id condition = Expression();
    const Id alternative = Expression();
    return Add({.kind = Kind::kBinary,
                .first = Binary(":", alternative),
                .second = condition,
                .text = "?"});
  }
  Id OperatorExpression() {
    const Operator* const op = OperatorOf(left_);
    if (op == nullptr || op->operands == 0) return Fail();
    left_.remove_prefix(op->code.size());
    TakeIf("_");  // of a prefix increment
    const Id operand = Expression();
    return op->operands == 1 ? Unary(op->text, operand) : Binary(op->text, operand);
  }
  Id UnresolvedName() {
    Id scope = kNoName;
    if (TakeIf("srN")) {
      scope = Type();
      while (!Ends()) scope = AddScoped(scope, SimpleName());
    } else if (TakeIf("sr")) {
      scope = Type();
      if (Peek() == 'E') return Fail();  // clang's form, which has other substitutions
    }
    return AddScoped(scope, SimpleName());
  }
  Id SimpleName() {
    const Id name = TakeIf("on") ? OperatorName() : SourceName();
    return Peek() == 'I' ? TemplateOf(name) : name;
  }

  std::string_view left_;
  ParsedName parsed_;
  std::vector<Id> substitutions_;
  std::string_view qualifiers_;  // of the last nested name, if it may be a function
  std::size_t levels_ = 0;
  bool failed_ = false;
};

}  // namespace

std::optional<ParsedName> ParseMangledName(std::string_view mangled, bool with_types) {
  if (mangled.size() > kMaxMangledName) return std::nullopt;
  return NameParser(mangled).Parse(with_types);
}

}  // namespace stemtap::model
