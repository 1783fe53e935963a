// Classes as far as the compile-time half of kernels needs them: holders of configuration, enums,
// dataclasses. A class's body is executed when the class is first used.
#include "elaborate/Parts.h"
#include "elaborate/runtime/Runtime.h"

#include <algorithm>

namespace tlc::elaborate {

namespace {

/// What @property, @staticmethod and @classmethod make of a function.
struct Descriptor : NativeObject {
  enum class What { Property, Static, Class } what;
  Value function;
  Descriptor(What what, Value function) : what(what), function(function) {}
  std::string typeName() const override { return "a descriptor"; }
  // `@x.setter` and its kin leave the property as it is.
  std::optional<Value> attribute(Elaborator &e, std::string_view name, SourceRange) override {
    if (what != What::Property || (name != "setter" && name != "getter" && name != "deleter"))
      return std::nullopt;
    Value self = Value::object(this);
    return makeClosure(e.heap, "property." + std::string(name),
                       [self](Elaborator &, CallArgs &) { return self; });
  }
  std::optional<Value> call(Elaborator &e, CallArgs &args) override {
    return e.call(function, args);
  }
};

bool rootedInEnum(const Value &base) {
  auto *cls = base.as<ClassObject>();
  return cls && cls->isEnum;
}

void makeMembers(Elaborator &e, ClassObject &cls, const std::vector<std::string> &names) {
  Int next = 1;
  for (const std::string &name : names) {
    Slot *slot = cls.scope->find(name);
    if (!slot || !slot->bound || name.starts_with("_") || slot->value.is(ValueKind::Function) ||
        slot->value.native<Descriptor>())
      continue;
    auto *member = e.heap.make<EnumMemberObject>();
    member->cls = &cls;
    member->name = name;
    member->value = slot->value;
    if (auto *automatic = slot->value.as<PoisonObject>();
        automatic && automatic->origin == "enum.auto()")
      member->value = Value::integer(next);
    if (member->value.isInt())
      next = member->value.asInt() + 1;
    slot->value = Value::object(member);
    cls.members.push_back(slot->value);
  }
}

void collectFields(ClassObject &cls, const ast::Block &body) {
  for (const Value &base : cls.bases)
    if (auto *b = base.as<ClassObject>())
      for (const std::string &field : b->fields)
        cls.fields.push_back(field);
  for (const ast::Stmt *stmt : body)
    if (auto *field = stmt->as<ast::AnnAssign>())
      if (auto *name = field->target->as<ast::Name>())
        if (std::find(cls.fields.begin(), cls.fields.end(), name->id) == cls.fields.end())
          cls.fields.push_back(name->id);
}

Value bindMethod(Elaborator &e, const Value &self, const Value &function) {
  auto *method = e.heap.make<BoundMethodObject>();
  method->self = self;
  method->function = function;
  return Value::object(method);
}

const std::vector<Value> &basesOf(Elaborator &e, const ClassObject &cls) {
  evaluateClass(e, const_cast<ClassObject &>(cls), cls.def ? cls.def->name.range : SourceRange());
  return cls.bases;
}

// Raw lookup along the bases, depth first.
std::optional<Value> findInClass(Elaborator &e, ClassObject &cls, std::string_view name,
                                 unsigned depth = 0) {
  if (depth > 64)
    return std::nullopt;
  evaluateClass(e, cls, e.currentRange);
  if (cls.scope)
    if (Slot *slot = cls.scope->find(name); slot && slot->bound)
      return slot->value;
  for (const Value &base : cls.bases) {
    if (auto *b = base.as<ClassObject>())
      if (auto found = findInClass(e, *b, name, depth + 1))
        return found;
  }
  return std::nullopt;
}

// What the class inherits from something unknown; null if nothing.
const PoisonObject *unknownBase(Elaborator &e, const ClassObject &cls, unsigned depth = 0) {
  if (depth > 64)
    return nullptr;
  for (const Value &base : basesOf(e, cls)) {
    if (auto *poison = base.as<PoisonObject>())
      return poison;
    if (auto *b = base.as<ClassObject>())
      if (const PoisonObject *p = unknownBase(e, *b, depth + 1))
        return p;
  }
  return nullptr;
}

Value instantiateDataclass(Elaborator &e, ClassObject &cls, InstanceObject &self, CallArgs &args) {
  std::string signature;
  for (const std::string &field : cls.fields) {
    bool hasDefault = findInClass(e, cls, field).has_value();
    signature += (signature.empty() ? "" : ", ") + field + (hasDefault ? "=" : "");
  }
  args.callee = cls.name;
  Binding binding(e, args, signature);
  if (!binding.ok)
    return Value::error();
  for (std::size_t i = 0; i < cls.fields.size(); ++i) {
    Value value;
    if (const CallArg *arg = binding.at(i))
      value = arg->value;
    else {
      value = *findInClass(e, cls, cls.fields[i]);
      // field(default_factory=list)
      if (auto *factory = value.as<BoundMethodObject>(); factory && factory->self.isNone())
        value = e.callWith(factory->function, {}, args.range);
    }
    self.set(cls.fields[i], value);
  }
  if (auto post = findInClass(e, cls, "__post_init__"))
    e.callWith(*post, {Value::object(&self)}, args.range);
  return Value::object(&self);
}

Value enumFromValue(Elaborator &e, ClassObject &cls, CallArgs &args) {
  evaluateClass(e, cls, args.range);
  if (args.positional.size() == 1) {
    const Value &wanted = args.positional[0].value;
    for (const Value &member : cls.members)
      if (equal(member, wanted) || equal(member.as<EnumMemberObject>()->value, wanted))
        return member;
    if (wanted.isError() || wanted.isPoison())
      return wanted;
  }
  e.report(diag::BadValue, args.range,
           (args.positional.empty() ? "this" : repr(args.positional[0].value)) +
               std::string(" is not a value of the enum `") + cls.name + "`");
  return Value::error();
}

} // namespace

Value defineClass(Elaborator &e, const ast::ClassDef &def) {
  auto *cls = e.heap.make<ClassObject>();
  cls->name = def.name.id;
  cls->def = &def;
  cls->enclosing = e.frame().scope;
  Value value = Value::object(cls);
  for (std::size_t i = def.decorators.size(); i-- > 0;) {
    const ast::Expr *decorator = def.decorators[i];
    Value applied = e.eval(*decorator);
    if (applied.isError() || applied.isPoison())
      continue; // says nothing about the configuration it holds
    Value result = e.callWith(applied, {value}, decorator->range);
    if (!result.isError() && !result.isPoison())
      value = result;
  }
  return value;
}

void evaluateClass(Elaborator &e, ClassObject &cls, SourceRange range) {
  if (cls.evaluated || !cls.def)
    return;
  cls.evaluated = true;
  cls.scope = e.makeScope(cls.enclosing);
  cls.scope->isClass = true;
  auto frame = std::make_unique<Frame>();
  frame->scope = cls.enclosing;
  frame->firstRegion = e.regions.size();
  KernelState *kernel = e.kernel;
  e.kernel = nullptr;
  std::size_t depth = e.frames.size();
  e.frames.push_back(std::move(frame));
  struct Restore {
    Elaborator &e;
    KernelState *kernel;
    std::size_t depth;
    ~Restore() {
      e.frames.resize(depth);
      e.kernel = kernel;
    }
  } restore{e, kernel, depth};
  for (const ast::Expr *base : cls.def->bases)
    cls.bases.push_back(base->is<ast::Starred>() ? Value::error() : e.eval(*base));
  for (const Value &base : cls.bases) {
    cls.isEnum = cls.isEnum || rootedInEnum(base);
    if (auto *b = base.as<ClassObject>()) {
      evaluateClass(e, *b, range);
      cls.isException = cls.isException || b->isException;
    }
  }
  e.frame().scope = cls.scope;
  e.execBlock(cls.def->body);
  for (auto &[name, slot] : cls.scope->names)
    if (auto *function = slot->value.as<FunctionObject>())
      function->owner = &cls;
  if (cls.isEnum)
    makeMembers(e, cls, cls.scope->order);
  collectFields(cls, cls.def->body);
}

std::optional<Value> classAttribute(Elaborator &e, ClassObject &cls, std::string_view name) {
  if (name == "__members__" && cls.isEnum) {
    evaluateClass(e, cls, e.currentRange);
    auto *dict = e.heap.make<DictObject>();
    for (const Value &member : cls.members)
      dict->table.set(e.str(member.as<EnumMemberObject>()->name), member);
    return Value::object(dict);
  }
  auto found = findInClass(e, cls, name);
  if (!found) {
    if (const PoisonObject *poison = unknownBase(e, cls))
      return e.makePoison(poison->origin + "." + std::string(name), poison->range, poison->reason);
    return std::nullopt;
  }
  if (auto *descriptor = found->native<Descriptor>()) {
    if (descriptor->what == Descriptor::What::Static)
      return descriptor->function;
    if (descriptor->what == Descriptor::What::Class)
      return bindMethod(e, Value::object(&cls), descriptor->function);
  }
  return found;
}

std::optional<Value> instanceAttribute(Elaborator &e, InstanceObject &self, std::string_view name,
                                       SourceRange range) {
  if (Value *own = self.find(name))
    return *own;
  if (name == "__class__")
    return Value::object(self.cls);
  if (name == "__dict__") {
    auto *dict = e.heap.make<DictObject>();
    for (auto &[key, value] : self.attributes)
      dict->table.set(e.str(key), value);
    return Value::object(dict);
  }
  auto found = findInClass(e, *self.cls, name);
  if (!found) {
    if (auto fallback = findInClass(e, *self.cls, "__getattr__"))
      return e.callWith(*fallback, {Value::object(&self), e.str(std::string(name))}, range);
    return classAttribute(e, *self.cls, name);
  }
  if (auto *descriptor = found->native<Descriptor>()) {
    switch (descriptor->what) {
    case Descriptor::What::Property:
      return e.callWith(descriptor->function, {Value::object(&self)}, range);
    case Descriptor::What::Static:
      return descriptor->function;
    case Descriptor::What::Class:
      return bindMethod(e, Value::object(self.cls), descriptor->function);
    }
  }
  if (found->is(ValueKind::Function))
    return bindMethod(e, Value::object(&self), *found);
  return found;
}

Value instantiate(Elaborator &e, ClassObject &cls, CallArgs &args) {
  evaluateClass(e, cls, args.range);
  if (cls.isEnum)
    return enumFromValue(e, cls, args);
  if (const PoisonObject *poison = unknownBase(e, cls); poison && !cls.isException)
    return e.makePoison(cls.name, args.range,
                        "`" + cls.name + "` inherits from `" + poison->origin + "`");
  auto *self = e.heap.make<InstanceObject>();
  self->cls = &cls;
  if (cls.isException) {
    std::vector<Value> values;
    for (const CallArg &arg : args.positional)
      values.push_back(arg.value);
    self->set("args", e.heap.tuple(std::move(values)));
  }
  if (auto init = findInClass(e, cls, "__init__")) {
    args.positional.insert(args.positional.begin(),
                           CallArg{Value::object(self), args.calleeRange, nullptr});
    args.callee = cls.name;
    if (e.call(*init, args).isError())
      return Value::error();
    return Value::object(self);
  }
  if (cls.isDataclass)
    return instantiateDataclass(e, cls, *self, args);
  if (!cls.isException && (!args.positional.empty() || !args.keywords.empty())) {
    e.report(diag::FunctionTooManyArguments, args.range, cls.name, 0,
             args.positional.size() + args.keywords.size());
    return Value::error();
  }
  return Value::object(self);
}

bool isSubclass(Elaborator &e, const ClassObject &cls, const ClassObject &base) {
  if (&cls == &base)
    return true;
  for (const Value &b : basesOf(e, cls))
    if (auto *object = b.as<ClassObject>();
        object && object != &cls && isSubclass(e, *object, base))
      return true;
  return false;
}

static bool isOfBuiltinType(const Value &value, std::string_view type) {
  switch (value.kind()) {
  case ValueKind::Bool:
    return type == "bool" || type == "int";
  case ValueKind::Int:
    return type == "int";
  case ValueKind::Float:
    return type == "float";
  case ValueKind::Str:
  case ValueKind::DType:
    return type == "str";
  case ValueKind::Bytes:
    return type == "bytes";
  case ValueKind::Tuple:
    return type == "tuple";
  case ValueKind::List:
    return type == "list";
  case ValueKind::Dict:
    return type == "dict";
  case ValueKind::Set:
    return type == (value.as<SetObject>()->frozen ? "frozenset" : "set");
  case ValueKind::Range:
    return type == "range";
  case ValueKind::Slice:
    return type == "slice";
  default:
    return false;
  }
}

bool isInstance(Elaborator &e, const Value &value, const Value &type, SourceRange range) {
  if (type.is(ValueKind::Tuple)) {
    for (const Value &one : type.as<TupleObject>()->items)
      if (isInstance(e, value, one, range))
        return true;
    return false;
  }
  if (auto *cls = type.as<ClassObject>()) {
    if (auto *instance = value.as<InstanceObject>())
      return isSubclass(e, *instance->cls, *cls);
    if (auto *member = value.as<EnumMemberObject>())
      return isSubclass(e, *member->cls, *cls);
    // typing.Callable and its kin
    if (cls->name == "Callable")
      return e.callable(value);
    if (cls->name == "Sequence" || cls->name == "Iterable")
      return value.is(ValueKind::Tuple) || value.is(ValueKind::List) || value.isText();
    if (cls->name == "Mapping")
      return value.is(ValueKind::Dict);
    if (cls->name == "PrimExpr" || cls->name == "Expr" || cls->name == "BaseExpr")
      return value.isRuntime();
    if (cls->name == "Var")
      return value.isExpr() && value.asExpr().isVar();
    if (cls->name == "IntImm")
      return value.isExpr() && value.asExpr().isInt();
    if (cls->name == "FloatImm")
      return value.isExpr() && value.asExpr().isFloat();
    if (cls->name == "Buffer")
      return value.isBuffer();
    if (cls->name == "PrimFunc")
      return value.is(ValueKind::Function) &&
             value.as<FunctionObject>()->role == FunctionRole::PrimFunc;
    return false;
  }
  if (auto *builtin = type.as<BuiltinObject>()) {
    if (builtin->name == "object")
      return true;
    if (builtin->name == "dtype" || builtin->name == "T.dtype" || builtin->name == "DataType")
      return value.isDType();
    if (auto *member = value.as<EnumMemberObject>(); member && builtin->name == "int")
      return member->value.isInt() &&
             std::any_of(member->cls->bases.begin(), member->cls->bases.end(), [](const Value &b) {
               auto *c = b.as<ClassObject>();
               return c && c->name == "IntEnum";
             });
    return isOfBuiltinType(value, builtin->name);
  }
  if (type.isNone())
    return value.isNone();
  return false; // an instance of something unknown (torch.Tensor) cannot exist here
}

std::optional<Value> callSpecial(Elaborator &e, const Value &self, std::string_view name,
                                 std::vector<Value> args, SourceRange range) {
  auto *instance = self.as<InstanceObject>();
  if (!instance)
    return std::nullopt;
  auto method = findInClass(e, *instance->cls, name);
  if (!method)
    return std::nullopt;
  args.insert(args.begin(), self);
  return e.callWith(*method, std::move(args), range);
}

// ---- The decorators

static Value descriptor(Elaborator &e, CallArgs &args, Descriptor::What what) {
  if (args.positional.size() != 1)
    return Value::error();
  return Value::object(e.heap.make<Descriptor>(what, args.positional[0].value));
}
Value builtinProperty(Elaborator &e, CallArgs &args) {
  return descriptor(e, args, Descriptor::What::Property);
}
Value builtinStaticmethod(Elaborator &e, CallArgs &args) {
  return descriptor(e, args, Descriptor::What::Static);
}
Value builtinClassmethod(Elaborator &e, CallArgs &args) {
  return descriptor(e, args, Descriptor::What::Class);
}

Value builtinSuper(Elaborator &e, CallArgs &args) {
  // super(): the class that the running method was defined in, and its first parameter.
  Frame &frame = e.frame();
  ClassObject *owner = frame.function ? frame.function->owner : nullptr;
  Value self;
  if (args.positional.size() == 2) {
    owner = args.positional[0].value.as<ClassObject>();
    self = args.positional[1].value;
  } else if (owner && frame.function->def && !frame.function->def->args.args.empty())
    if (Slot *slot = frame.scope->find(frame.function->def->args.args[0].name.id))
      self = slot->value;
  if (!owner || self.isError()) {
    e.report(diag::NotAtCompileTime, args.range, "`super()` outside of a method");
    return Value::error();
  }
  struct Super : NativeObject {
    ClassObject *owner;
    Value self;
    std::string typeName() const override { return "a super object"; }
    std::optional<Value> attribute(Elaborator &e, std::string_view name, SourceRange) override {
      for (const Value &base : owner->bases)
        if (auto *cls = base.as<ClassObject>())
          if (auto found = findInClass(e, *cls, name))
            return found->is(ValueKind::Function) ? bindMethod(e, self, *found) : *found;
      if (name == "__init__" || name == "__post_init__")
        return makeClosure(e.heap, "object.__init__",
                           [](Elaborator &, CallArgs &) { return Value::none(); });
      return std::nullopt;
    }
  };
  auto *object = e.heap.make<Super>();
  object->owner = owner;
  object->self = self;
  return Value::object(object);
}

} // namespace tlc::elaborate
