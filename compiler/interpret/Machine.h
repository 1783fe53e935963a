// What runs: the machine with its launch, blocks, and groups of threads in step.
//
// A group executes one statement in all its active lanes before the next. In the tile and scheduled
// phases the group is the whole block, so that statements take effect in program order as
// semantics.md §3 wants; roles and diverging arms that wait for each other run as groups of their
// own. In the thread phase each warp is a group, and accesses that only an order of execution
// separates are reported.
#pragma once

#include "interpret/Code.h"
#include "interpret/Fiber.h"
#include "interpret/Interpreter.h"
#include "interpret/Memory.h"

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace tlc::interpret {

class Group;
struct Machine;

/// An element of a statement, compiled.
struct ElementRef {
  std::uint32_t buffer = 0;
  std::vector<Ref> indices;
  Ref version;
  std::vector<std::pair<Ref, unsigned>> bases; ///< offsets of views, with their elements' bits
  bool isPhysical = false;
  bool isPerLane = false; ///< a local buffer that each point of the map has for itself
  bool isWatched = false; ///< in a map: its storage is written by the map
};

struct RegionRef {
  std::uint32_t buffer = 0;
  std::vector<Ref> offsets, extents;
  std::uint64_t dropped = 0;
  Ref version;
  std::vector<std::pair<Ref, unsigned>> bases;
  bool isLocal = false; ///< the operand of a per-thread operation
};

/// A compiled statement.
struct Node {
  const ir::Stmt *stmt = nullptr;
  Code code; ///< of its expressions, run first
  virtual ~Node() = default;
  virtual void run(Group &group) = 0;
};
using NodeList = std::vector<std::unique_ptr<Node>>;

/// A compiled launch.
struct Program {
  const ir::Launch *launch = nullptr;
  NodeList body;
  SlotTable slots;
  Code gridCode;
  std::vector<Ref> grid, blockVars;
  std::array<Ref, 3> threadVars;
  Ref tid;
  unsigned maps = 0; ///< number of map nodes, each with a frame
  bool usesThreadLoops = false;
  bool mayCommunicate = false; ///< blocks may order each other: atomics, grid barriers, user's code
  bool isResident = false;     ///< blocks may wait for each other
  std::set<const ir::Buffer *> stored; ///< owners of storage that plain statements write
  /// What teams of roles run, each with tiles of its own.
  std::deque<ir::Block> teamBodies;
  std::vector<std::unique_ptr<ir::Buffer>> teamBuffers;
};

/// How far each warp has come, as known by somebody.
using Clock = std::vector<std::uint64_t>;

struct BarrierState {
  std::int64_t arrived = 0;
  std::uint64_t generation = 0;
  Clock clock, passed; ///< of those arrived; of the last generation
  std::int64_t count = 0;
  std::int64_t orTotal = 0, andTotal = 0, counted = 0; ///< votes of this generation
  std::int64_t resultOr = 0, resultAnd = 0, resultCount = 0;
};

/// Bytes that an asynchronous operation still writes.
struct Flight {
  Storage *storage;
  std::size_t begin, bytes;
  const View *view;
  std::int64_t at;
  std::uint32_t thread;
};

struct MbarState {
  bool isInitialised = false;
  std::int64_t expected = 0, pending = 0, bytes = 0;
  std::uint64_t phase = 0;
  Clock clock, passed;
  std::vector<Flight> flights;
};

/// One block of the grid.
struct BlockState {
  std::array<std::int64_t, 3> index{};
  std::int64_t linear = 0;
  std::uint32_t stamp = 0; ///< number of this block in the whole run
  std::vector<View> views; ///< by buffer number
  std::deque<Storage> storages;
  std::vector<std::vector<MbarState>> mbars; ///< by buffer number
  BarrierState barrier;
  std::map<std::int64_t, BarrierState> named;
  std::int64_t threads = 0, live = 0;
  std::vector<Clock> clocks; ///< by warp; thread phase only
  struct MapFrame {
    std::vector<Value> values;
    std::vector<std::uint8_t> states;
  };
  std::vector<MapFrame> frames; ///< by map
  std::vector<BlockState *> cluster;
};

enum class Watch : std::uint8_t { Nothing, Points, Statement, Threads };
enum LaneState : std::uint8_t { Running, Continued, Broken, Exited };

/// Thread groups and maps' points in execution.
class Group {
public:
  Group(Machine &machine, BlockState &block) : machine(machine), block(block) {}

  Machine &machine;
  BlockState &block;
  Lanes lanes;
  std::vector<std::uint8_t> *states = nullptr; ///< LaneState of each lane
  std::vector<std::uint32_t> scope;            ///< lanes of the enclosing role or block
  bool hasKilled = false;                      ///< some lane stopped running
  bool isMap = false;
  std::uint32_t firstThread = 0; ///< of lane 0; in a map: the thread that stands for all
  std::int64_t roleFirst = 0;    ///< first thread of the enclosing role
  Watch watch = Watch::Nothing;
  std::uint32_t stamp = 0, points = 0, firstPoint = 0;
  std::uint32_t warp = 0;
  const Node *current = nullptr;
  StatementCounts *counts = nullptr; ///< of the current statement, if they are asked for
  /// Asynchronous operations of one kind.
  struct AsyncQueue {
    std::vector<std::vector<Flight>> closed; ///< groups, oldest first
    std::vector<Flight> open;
  };
  std::array<AsyncQueue, 4> queues; ///< by ir::AsyncKind
  /// Generation of the cluster's barrier at which this group has arrived and not waited.
  std::optional<std::uint64_t> arrivedIn;
  AsyncQueue &queue(ir::AsyncKind kind) { return queues[static_cast<std::size_t>(kind)]; }

  void runList(const NodeList &list);
  void runNode(Node &node);
  /// Runs `f` with these lanes active; afterwards those of `before` that still run are.
  template <class F> void with(std::vector<std::uint32_t> active, F f) {
    std::vector<std::uint32_t> before = std::move(lanes.active);
    lanes.setActive(std::move(active));
    f();
    lanes.setActive(std::move(before));
    if (hasKilled)
      dropKilled();
  }
  void dropKilled();
  void kill(LaneState how);

  std::uint32_t threadOf(std::uint32_t lane) const {
    return isMap ? firstThread : firstThread + lane;
  }
  const View &view(std::uint32_t buffer) const { return block.views[buffer]; }

  // ---- Elements
  /// Bit offset in the storage of `run` elements from the element; false if out of range.
  bool locate(const ElementRef &e, std::uint32_t lane, unsigned run, std::int64_t &at) const;
  /// What locate refuses: silent for logical elements of global buffers.
  void outOfRange(const ElementRef &e, std::uint32_t lane, bool isWrite);
  void countRead(const View &v) {
    if (counts)
      (v.isGlobal() ? counts->globalRead : counts->sharedRead) += countedBits(v);
  }
  void countWrite(const View &v) {
    if (counts)
      (v.isGlobal() ? counts->globalWritten : counts->sharedWritten) += countedBits(v);
  }
  void countProduct(std::int64_t m, std::int64_t n, std::int64_t k) {
    if (counts)
      ++counts->products, counts->multiplyAdds += static_cast<std::uint64_t>(m * n * k);
  }
  void noteRead(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched);
  void noteWrite(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched, Value value);
  Value read(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched) {
    noteRead(v, at, lane, isWatched);
    return v.load(at);
  }
  void write(const View &v, std::int64_t at, std::uint32_t lane, bool isWatched, Value value) {
    noteWrite(v, at, lane, isWatched, value);
    v.store(at, value);
  }
  /// Marks an element as written, without watching.
  void markWritten(const View &v, std::int64_t at, State state = Defined);
  /// What is known of an element: bytes last written through another buffer are not this one's.
  State stateOf(const View &v, std::int64_t at) const {
    const Storage &s = *v.storage;
    if (s.state.empty())
      return Defined;
    auto byte = static_cast<std::size_t>(at >> 3);
    bool isOther = !s.owner.empty() && s.state[byte] == Defined && s.owner[byte] != v.number + 1;
    return isOther ? NeverWritten : static_cast<State>(s.state[byte]);
  }
  bool isDefined(const View &v, std::int64_t at) const { return stateOf(v, at) == Defined; }
  /// Reads for a copy: what was never written may be carried along, as long as nobody uses it.
  /// False if it was not.
  bool readToCarry(const View &v, std::int64_t at, std::uint32_t lane, Value &value) {
    bool isCarried = stateOf(v, at) == NeverWritten;
    if (!isCarried)
      noteRead(v, at, lane, false);
    else
      countRead(v);
    value = v.load(at);
    return !isCarried;
  }

  // ---- Collectives
  /// Reports if not all threads of the role are here.
  void expectAll();
  /// The value in all active lanes; reports if they differ.
  Value uniformValue(Ref r, DType type, const char *what);
  bool isDiverged() const;

  // ---- Asynchronous operations
  void fly(Flight f, ir::AsyncKind kind = ir::AsyncKind::CpAsync) { queue(kind).open.push_back(f); }
  /// `ordered`: by what was released and acquired since, so that they were written when they began.
  void land(std::vector<Flight> &flights, bool ordered = false);
  void commit(ir::AsyncKind kind);
  void waitFor(ir::AsyncKind kind, std::size_t pending);

  // ---- Order between threads
  void release(Clock &into);
  void acquire(const Clock &from);
  void tick();

  void report(ReportKind kind, const std::string &text);
  /// Whether a report of this kind at the current statement is new: making its text takes time.
  bool isNew(ReportKind kind) const;
  std::string whereIs(const View &v, std::int64_t at) const;
  std::string threadName(std::uint32_t lane) const;

private:
  /// Of one element; nothing of fragments and locals, which are registers.
  static std::uint64_t countedBits(const View &v) {
    ir::Scope scope = v.storage->scope;
    return scope == ir::Scope::Global || scope == ir::Scope::Shared ? v.bits() : 0;
  }
  bool isOrdered(std::uint64_t access, std::uint32_t thread) const;
  void badRead(const View &v, std::int64_t at, std::uint32_t lane);
  void badWrite(const View &v, std::int64_t at, std::uint32_t lane);
  void watchRead(const View &v, std::int64_t at, std::uint32_t lane);
  void watchWrite(const View &v, std::int64_t at, std::uint32_t lane, Value value);
  void threadRead(const View &v, std::int64_t at, std::uint32_t lane);
  void threadWrite(const View &v, std::int64_t at, std::uint32_t lane, Value value);
  void blockRead(const View &v, std::int64_t at);
  void blockWrite(const View &v, std::int64_t at, Value value);
};

struct Machine {
  Machine(const ir::Function &function, const Options &options)
      : function(function), options(options), scheduler(options.seed) {}

  const ir::Function &function;
  const Options &options;
  Scheduler scheduler;
  Result result;
  std::set<std::pair<const void *, int>> reported;
  std::uint64_t steps = 0;
  std::unordered_map<const ir::Stmt *, StatementCounts> counts;

  std::unordered_map<const ir::Buffer *, std::uint32_t> numbers;
  std::vector<const ir::Buffer *> buffers;
  /// Storage that lasts through all launches, and views of it, by buffer number.
  std::deque<Storage> globals;
  std::vector<View> globalViews;
  std::unordered_map<const ir::ExprNode *, Value> arguments; ///< scalars, dims, launch constants
  const Program *program = nullptr;
  std::deque<Value> uniformsOfRun;
  std::uint32_t stamps = 1, blockStamps = 1, launchStamp = 1;
  bool isThreadPhase() const { return function.phase >= ir::Phase::Thread; }

  std::uint32_t numberOf(const ir::Buffer *b);
  void report(ReportKind kind, const std::string &message, SourceRange range, const void *key);
  bool isNew(ReportKind kind, const void *key) const {
    return result.reports.size() < options.maxReports &&
           !reported.count({key, static_cast<int>(kind)});
  }
  /// Takes `count` numbers for watching.
  std::uint32_t takeStamps(std::uint32_t count);
  std::vector<BlockState *> allBlocks; ///< alive
};

/// Compiles a launch for the machine's function.
std::unique_ptr<Program> compile(Machine &machine, const ir::Launch &launch);

} // namespace tlc::interpret
