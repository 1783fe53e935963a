#include "emit/PrintKernel.h"

#include "ir/GridDependency.h"
#include "ir/Walk.h"
#include "support/Check.h"

#include <algorithm>

namespace tlc::emit {

using namespace ir;

std::string wrapList(const std::string &head, const std::vector<std::string> &items,
                     const std::string &tail, std::size_t indent, std::size_t before) {
  constexpr std::size_t width = 100;
  std::string out = head, margin = "\n" + std::string(indent, ' ');
  std::size_t column = before + head.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool last = i + 1 == items.size();
    std::size_t needed = items[i].size() + (last ? tail.size() : 1);
    if (i > 0 && column + 1 + needed > width) {
      out += margin;
      column = indent;
    } else if (i > 0) {
      out += ' ';
      ++column;
    }
    out += items[i] + (last ? "" : ",");
    column += items[i].size() + (last ? 0 : 1);
  }
  return out + tail;
}

void writeLines(TextWriter &out, std::string_view text) {
  // The writer indents every line; wrapped ones carry their own margin.
  for (std::size_t at = 0; at != text.npos;) {
    std::size_t end = text.find('\n', at);
    out.line(text.substr(at, end == text.npos ? end : end - at));
    at = end == text.npos ? end : end + 1;
  }
}

namespace {

class KernelPrinter {
public:
  KernelPrinter(const Function &function, const Launch &launch, const Target &target,
                std::string name, const Options &options, const Dialect &dialect,
                RuntimeUse &runtime, TextWriter &out)
      : function(function), launch(launch), target(target), dialect(dialect), runtime(runtime),
        out(out), facts(factsOf(launch.body)), stmts(options, dialect, names, runtime, out, facts) {
    kernel.launch = &launch;
    kernel.name = std::move(name);
    std::int64_t threads = launch.threadCount() + launch.extraThreads;
    std::int64_t blocks = std::max<std::int64_t>(1, launch.minBlocksPerSm);
    stmts.roleCount = threads;
    stmts.entryRegisters = std::min<std::int64_t>(255, 65536 / (threads * blocks) / 8 * 8);
    reserveNames();
  }

  PrintedKernel print(std::string_view guard, std::int64_t alignment) {
    collectArguments();
    printSignature();
    if (!guard.empty())
      out.line("#if " + std::string(guard));
    {
      auto inner = out.indent();
      if (facts.usesShared || hasArenaLocals())
        printArena(alignment);
      printConversions();
      if (dialect.family == Family::Cpu)
        declareCpuIndices();
      else
        printIndices();
      stmts.printBlock(launch.body);
    }
    if (!guard.empty())
      out.line("#endif");
    out.line("}");
    names.leave();
    return std::move(kernel);
  }

private:
  /// Functions that the text calls without a namespace must not be hidden by a variable.
  void reserveNames() {
    for (bool isDouble : {false, true})
      for (unsigned fn = 0; fn <= static_cast<unsigned>(MathFn::FastRcp); ++fn)
        names.reserve(dialect.math(static_cast<MathFn>(fn), isDouble).name);
    for (std::string_view name : {"tlc", "printf", "__syncthreads"})
      names.reserve(name);
    names.reserve(kernel.name);
    names.enter();
  }

  bool hasArenaLocals() const {
    bool found = false;
    walk(launch.body, [&](const Stmt &stmt) {
      if (auto *alloc = dynCast<AllocStmt>(&stmt))
        found |= alloc->buffer->sharedOffset >= 0;
      return !found;
    });
    return found;
  }

  void addVariable(Expr var) {
    if (var && (facts.useCount(var) > 0 || shapeUses(var)))
      kernel.arguments.push_back({nullptr, var, nullptr, "", ""});
  }
  /// A view of a global buffer may start at a computed place.
  bool shapeUses(Expr var) const {
    bool found = false;
    walk(launch.body, [&](const Stmt &stmt) {
      auto *alloc = dynCast<AllocStmt>(&stmt);
      if (alloc && alloc->buffer->base && alloc->buffer->baseOffset)
        found |= uses(alloc->buffer->baseOffset, var);
      return !found;
    });
    return found;
  }

  void collectArguments() {
    auto addBuffer = [&](const Buffer *buffer) {
      if (std::find(facts.globals.begin(), facts.globals.end(), buffer) != facts.globals.end())
        kernel.arguments.push_back({buffer, {}, nullptr, "", ""});
    };
    for (const TensorMap *map : facts.tensorMaps)
      kernel.arguments.push_back({nullptr, {}, map, "const __grid_constant__ CUtensorMap", ""});
    for (const Param &param : function.params)
      if (param.buffer)
        addBuffer(param.buffer);
    for (const Buffer *buffer : function.workspace)
      addBuffer(buffer);
    for (const Dim &dim : function.dims)
      addVariable(dim.var);
    for (const Param &param : function.params)
      addVariable(param.scalar);
    for (const LaunchConstant &constant : function.launchConstants)
      addVariable(constant.var);
    for (const Buffer *buffer : facts.globals)
      TLC_CHECK(std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                            [&](const KernelArgument &a) { return a.buffer == buffer; }),
                "global buffer `" + buffer->name + "` is no parameter and no workspace");
  }

  void printSignature() {
    // Loads of what is promised not to change may move before the wait for the kernel that changes
    // it.
    const bool changes = waitsForGrid(launch);
    std::vector<std::string> items;
    for (KernelArgument &a : kernel.arguments) {
      if (a.map) {
        a.name = names.fresh("map_" + a.map->tensor->name);
        stmts.tensorMapNames.push_back(a.name);
      } else if (a.buffer) {
        a.type = std::string(a.buffer->writable ? "" : "const ") +
                 stmts.exprs.storageOf(a.buffer->dtype) + " *";
        if (!a.buffer->noRestrict && !changes) {
          if (dialect.family == Family::Cpu)
            runtime.use("TLC_RESTRICT");
          a.type += std::string(dialect.restrictWord) + " ";
        }
        a.name = names.declare(*a.buffer);
      } else {
        a.type = isHalf(a.var.dtype()) || isSmallFloat(a.var.dtype())
                     ? "float"
                     : stmts.exprs.typeOf(a.var.dtype());
        a.name = names.declare(a.var);
      }
      items.push_back(a.type + (a.type.ends_with(' ') || a.type.ends_with('*') ? "" : " ") +
                      a.name);
    }
    std::string head(dialect.kernelQualifier);
    if (dialect.family == Family::Cpu) {
      for (Expr var : launch.blockVars)
        items.push_back(facts.useCount(var) ? "const int " + names.declare(var)
                                            : std::string("int"));
      arenaParam = facts.usesShared || hasArenaLocals();
      arenaName = names.fresh("arena");
      items.push_back(arenaParam ? "unsigned char *" + arenaName : "unsigned char *");
      head = "inline void";
    } else {
      std::int64_t threads = launch.threadCount() + launch.extraThreads;
      head += " __launch_bounds__(" + std::to_string(threads) +
              (launch.minBlocksPerSm ? ", " + std::to_string(launch.minBlocksPerSm) : "") + ")";
    }
    head += " " + kernel.name + "(";
    std::string text = wrapList(head, items, ") {", 4);
    writeLines(out, text);
  }

  void printArena(std::int64_t alignment) {
    if (dialect.family == Family::Cpu) {
      stmts.arena = arenaName;
      return;
    }
    runtime.use("TLC_DYNAMIC_SHARED");
    stmts.arena = names.fresh("arena");
    out.line("TLC_DYNAMIC_SHARED(unsigned char, " + stmts.arena + ", " + std::to_string(alignment) +
             ");");
  }

  /// Narrow floats come as float; the body has them in their own type.
  void printConversions() {
    for (const KernelArgument &a : kernel.arguments) {
      if (!a.var || !(isHalf(a.var.dtype()) || isSmallFloat(a.var.dtype())))
        continue;
      DType dtype = a.var.dtype();
      std::string passed = names.of(a.var), name = names.fresh(a.var->name);
      out.line("const " + stmts.exprs.typeOf(dtype) + " " + name + " = " +
               stmts.exprs.fromFloat(dtype, passed, dtype.bits() <= 8) + ";");
      names.alias(a.var, name);
    }
  }

  void declareCpuIndices() {
    if (launch.tid)
      names.alias(launch.tid, "0"); // no thread is left unless a loop over threads binds it
    for (Expr var : launch.threadVars)
      if (var)
        names.alias(var, "0");
  }

  void printIndices() {
    printBlockIndices();
    bool linear = launch.extraThreads > 0 || (launch.threads[1] == 1 && launch.threads[2] == 1);
    std::string x(dialect.threadIndex[0]), y(dialect.threadIndex[1]), z(dialect.threadIndex[2]);
    std::int64_t tx = launch.threads[0], ty = launch.threads[1];
    std::string linearText = "int(" + x + ")";
    if (!linear) {
      linearText = "int(" + x + " + " + std::to_string(tx) + " * " + y + ")";
      if (launch.threads[2] > 1)
        linearText = "int(" + x + " + " + std::to_string(tx) + " * (" + y + " + " +
                     std::to_string(ty) + " * " + z + "))";
    }
    bool roles = hasRoles();
    if (facts.useCount(launch.tid) > 0 || roles || (launch.extraThreads > 0 && usesThreadVars())) {
      stmts.tid = names.declare(launch.tid);
      out.line("const int " + stmts.tid + " = " + linearText + ";");
    }
    if (target.has(Feature::SetMaxRegisters) && hasWarpgroupRoles()) {
      stmts.warpgroup = names.fresh("warpgroup");
      out.line("const int " + stmts.warpgroup + " = " + stmts.exprs.runtimeName("warp_uniform") +
               "(" + stmts.tid + " / 128);");
    }
    for (unsigned d = 0; d < 3; ++d) {
      Expr var = launch.threadVars[d];
      if (!var || var == launch.tid || facts.useCount(var) == 0)
        continue;
      std::string text = "int(" + std::string(dialect.threadIndex[d]) + ")";
      if (launch.extraThreads > 0) {
        std::string below = d == 0 ? "" : d == 1 ? std::to_string(tx) : std::to_string(tx * ty);
        text = d == 0 ? stmts.tid : stmts.tid + " / " + below;
        if (d < 2 && launch.threads[d + 1] * launch.threads[2] > 1)
          text += " % " + std::to_string(launch.threads[d]);
      }
      out.line("const int " + names.declare(var) + " = " + text + ";");
    }
  }

  bool usesThreadVars() const {
    return std::any_of(launch.threadVars.begin(), launch.threadVars.end(),
                       [&](Expr v) { return v && facts.useCount(v) > 0; });
  }
  /// Roles of whole warpgroups: the compiler is to know that their threads branch together.
  bool hasWarpgroupRoles() const {
    bool found = false;
    walk(launch.body, [&](const Stmt &stmt) {
      const auto *role = dynCast<RoleStmt>(&stmt);
      found |= role && role->count % 128 == 0;
      return !found;
    });
    return found;
  }
  bool hasRoles() const {
    bool found = false;
    walk(launch.body, [&](const Stmt &stmt) {
      found |= isa<RoleStmt>(stmt);
      return !found;
    });
    return found;
  }

  void printBlockIndices() {
    bool panels = launch.raster.panel > 0 && launch.blockVars.size() >= 2;
    std::string block;
    if (panels) {
      block = names.fresh("block");
      out.line(
          "const int2 " + block + " = " +
          stmts.exprs.runtimeName(launch.raster.columnMajor ? "raster_columns" : "raster_rows") +
          "<" + std::to_string(launch.raster.panel) + ">();");
    }
    for (std::size_t d = 0; d < launch.blockVars.size(); ++d) {
      Expr var = launch.blockVars[d];
      if (facts.useCount(var) == 0 && !shapeUses(var))
        continue;
      std::string text = panels && d < 2 ? block + (d == 0 ? ".x" : ".y")
                                         : "int(" + std::string(dialect.blockIndex[d]) + ")";
      out.line("const int " + names.declare(var) + " = " + text + ";");
    }
  }

  const Function &function;
  const Launch &launch;
  const Target &target;
  const Dialect &dialect;
  RuntimeUse &runtime;
  TextWriter &out;
  BodyFacts facts;
  ScopedNames names;
  StmtPrinter stmts;
  PrintedKernel kernel;
  std::string arenaName;
  bool arenaParam = false;
};

} // namespace

PrintedKernel printKernel(const Function &function, const Launch &launch, const Target &target,
                          std::string name, const Options &options, const Dialect &dialect,
                          RuntimeUse &runtime, TextWriter &out, std::string_view guard,
                          std::int64_t alignment) {
  return KernelPrinter(function, launch, target, std::move(name), options, dialect, runtime, out)
      .print(guard, alignment);
}

} // namespace tlc::emit
