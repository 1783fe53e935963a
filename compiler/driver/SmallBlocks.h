// The program's own operator new and delete.
#pragma once

// Sanitizers and other tools that follow each block bring their own.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
#define TLC_SMALL_BLOCKS 1
#else
#define TLC_SMALL_BLOCKS 0
#endif

namespace tlc {

/// Small blocks that this thread makes from now on are taken from lists by size. For one thread at
/// a time: the one that compiles.
void serveSmallBlocksHere();

} // namespace tlc
