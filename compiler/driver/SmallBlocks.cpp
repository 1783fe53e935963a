// operator new and delete of the program: small blocks from lists by size.
//
// A compilation makes and drops hundreds of thousands of small blocks of a few sizes, on one
// thread, and ends. The general allocator, which searches for the best fit and joins neighbours
// again, took a sixth of the whole time. Here a size is rounded up to a multiple of 16 bytes; a
// dropped block is the next one of its size. Pages of 64 KiB hold blocks of one size each and lie
// in one reserved range of addresses, so that a block tells its size by where it is. What is larger
// comes from malloc, and so does everything on threads that did not ask for this.
#include "driver/SmallBlocks.h"

#if TLC_SMALL_BLOCKS
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t granule = 16, largest = 512, sizes = largest / granule + 1;
constexpr std::size_t pageBytes = std::size_t{64} << 10;
constexpr std::size_t pages = std::size_t{1} << 16; ///< 4 GiB of addresses, taken when touched

struct Block {
  Block *next;
};

class SmallBlocks {
public:
  void *take(std::size_t bytes) {
    std::size_t size = (bytes + granule - 1) / granule;
    if (Block *block = dropped[size]) {
      dropped[size] = block->next;
      return block;
    }
    if (fresh[size] == end[size] && !addPage(size))
      return std::malloc(bytes);
    char *block = fresh[size];
    fresh[size] += size * granule;
    return block;
  }

  bool holds(const void *block) const {
    return static_cast<std::size_t>(static_cast<const char *>(block) - begin) < used * pageBytes;
  }

  void drop(void *block) {
    std::size_t size =
        sizeOf[static_cast<std::size_t>(static_cast<char *>(block) - begin) / pageBytes];
    dropped[size] = new (block) Block{dropped[size]};
  }

private:
  bool addPage(std::size_t size) {
    if (!begin && !failed) {
      void *range = ::mmap(nullptr, pages * pageBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      failed = range == MAP_FAILED;
      begin = failed ? nullptr : static_cast<char *>(range);
    }
    if (failed || used == pages)
      return false;
    sizeOf[used] = static_cast<std::uint8_t>(size);
    fresh[size] = begin + used++ * pageBytes;
    end[size] = fresh[size] + pageBytes / (size * granule) * (size * granule);
    return true;
  }

  char *begin = nullptr;
  std::size_t used = 0; ///< pages
  bool failed = false;
  std::uint8_t sizeOf[pages]{}; ///< by page, in granules
  Block *dropped[sizes]{};
  char *fresh[sizes]{}, *end[sizes]{}; ///< what is left of the newest page
};

constinit SmallBlocks blocks;
constinit thread_local bool served = false;

} // namespace

void tlc::serveSmallBlocksHere() { served = true; }

void *operator new(std::size_t bytes) {
  void *block =
      served && bytes <= largest ? blocks.take(bytes ? bytes : 1) : std::malloc(bytes ? bytes : 1);
  if (!block)
    throw std::bad_alloc();
  return block;
}

void operator delete(void *block) noexcept {
  if (!blocks.holds(block))
    std::free(block);
  else if (served) // else it is lost: nobody makes blocks there any more
    blocks.drop(block);
}

void operator delete(void *block, std::size_t) noexcept { operator delete(block); }

// Tables of LLVM's ask for an alignment, which is seldom more than what every block has.
void *operator new(std::size_t bytes, std::align_val_t alignment) {
  auto bound = static_cast<std::size_t>(alignment);
  if (bound <= granule)
    return operator new(bytes);
  void *block = std::aligned_alloc(bound, (bytes + bound - 1) / bound * bound);
  if (!block)
    throw std::bad_alloc();
  return block;
}

void operator delete(void *block, std::align_val_t) noexcept { operator delete(block); }

void operator delete(void *block, std::size_t, std::align_val_t) noexcept {
  operator delete(block);
}

#else

void tlc::serveSmallBlocksHere() {}

#endif
