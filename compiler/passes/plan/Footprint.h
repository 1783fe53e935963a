// How much memory the buffers of a launch take, before any of it has a place.
#pragma once

#include "ir/Function.h"
#include "passes/Schedule.h"

#include <functional>

namespace tlc::passes {

/// Bytes of one version of a buffer; 0 if its extents are not constant.
std::int64_t bytesOf(const ir::Buffer &buffer);

/// How often a buffer is there.
using Copies = std::function<std::int64_t(const ir::Buffer &)>;

/// Bytes of all buffers of a scope that are allocated in a block and own their storage; `copies`
/// says how often each counts: null means its versions.
std::int64_t allocatedBytes(const ir::Block &block, ir::Scope scope, const Copies &copies = {});

/// Those of the shared tiles of a launch, with as many versions as the plan has stages for what
/// their loops load.
std::int64_t plannedSharedBytes(ir::Launch &launch, const LaunchPlan &plan);

/// Registers of a thread, of so many in a block, that all fragments and what else a thread keeps
/// take at once.
std::int64_t registersOf(const ir::Block &block, std::int64_t threads);

/// 32-bit registers of the arrays of a thread where most of them are live at once, in thread code:
/// those of a block with those of its hungriest inner block.
std::int64_t arrayRegisters(const ir::Block &block);

} // namespace tlc::passes
