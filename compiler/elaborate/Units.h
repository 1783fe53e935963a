// Which kernels a file has, and with what arguments they are built.
#pragma once

#include "elaborate/Parts.h"

namespace tlc::elaborate {

/// A kernel to build: a function of the file, or an instantiation of one.
struct Unit {
  std::string name; ///< the C symbol
  Value value;      ///< a function or a KernelValue
  /// Asked for by name or written out as an instantiation: what is missing is an error.
  bool wanted = false;
  SourceRange range;
};

/// What came of trying to build a unit.
enum class Outcome : std::uint8_t {
  Built,
  Failed,   ///< errors were reported
  LeftOut,  ///< nothing was given and something is missing
  NoKernel, ///< a plain function that turned out to yield none
};

class Units {
public:
  Units(Elaborator &e, ElaborateResult &result) : e(e), result(result) {}

  /// After the module was executed.
  void run(ModuleObject &module);

private:
  // Finding
  void collect(ModuleObject &module);
  void collectInstantiations(ModuleObject &module);
  void addInstantiation(const std::string &line, ModuleObject &module);
  void select(ModuleObject &module);

  // Building
  Outcome build(const Unit &unit);
  Outcome resolve(const Unit &unit, Value value, JitOptions options);
  struct Bound; // arguments of one function
  std::optional<Outcome> bind(const Unit &unit, FunctionObject &function,
                              const std::vector<std::pair<std::string, Value>> &given,
                              const Value &config, Bound &bound);
  Outcome level(const Unit &unit, FunctionObject &function,
                const std::vector<std::pair<std::string, Value>> &given, const JitOptions &options);
  Outcome apply(const Unit &unit, FunctionObject &function,
                const std::vector<std::pair<std::string, Value>> &given, const JitOptions &options,
                const Value &config);
  Outcome reportMissing(const Unit &unit, const FunctionObject &function,
                        const std::vector<std::string> &missing);
  std::vector<Value> configurations(FunctionObject &function,
                                    const std::vector<std::pair<std::string, Value>> &given,
                                    const JitOptions &options);
  Outcome kernel(const Unit &unit, FunctionObject &function, Scope *scope,
                 const JitOptions &options);
  void declareParameters(FunctionObject &function, Scope *scope);
  void assume(ir::Function &function);
  void finishNames();

  Elaborator &e;
  ElaborateResult &result;
  std::vector<Unit> units;
  std::set<const ast::FunctionDef *> instantiated; ///< functions that instantiations are of
  std::set<std::string> usedAssumptions;
  bool givenSomething = false; ///< the unit at work got a value from the command line
};

} // namespace tlc::elaborate
