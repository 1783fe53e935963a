// The functions of cuda/tma.cuh. Cache hints change nothing here.
namespace tlc {

TLC_DEVICE void tma_prefetch(const CUtensorMap *map TLC_AT) { ::emu::tma_prefetch(map TLC_HERE); }
struct cache_hint {
  uint64_t policy;
};
TLC_DEVICE cache_hint evict_first() { return {1}; }
TLC_DEVICE cache_hint evict_last() { return {2}; }

// In the order of emu::Reduction, behind none and add.
enum class tma_operation { min = 2, max, inc, dec, bit_and, bit_or, bit_xor };

// One definition for each rank: coordinates as parameters, their names, offsets of im2col.
#define EMU_BOXES(rank, parameters, names)                                                         \
  TLC_DEVICE void tma_load_##rank##d(void *to, const CUtensorMap *map, uint64_t *barrier,          \
                                     EMU_LIST parameters TLC_AT) {                                 \
    const int at[] = {EMU_LIST names};                                                             \
    ::emu::tma_load(shared_address(to), map, shared_address(barrier), {rank, at} TLC_HERE);        \
  }                                                                                                \
  TLC_DEVICE void tma_load_##rank##d(void *to, const CUtensorMap *map, uint64_t *barrier,          \
                                     EMU_LIST parameters, cache_hint TLC_AT) {                     \
    tma_load_##rank##d(to, map, barrier, EMU_LIST names TLC_HERE);                                 \
  }                                                                                                \
  TLC_DEVICE void tma_load_##rank##d_multicast(void *to, const CUtensorMap *map,                   \
                                               uint64_t *barrier, EMU_LIST parameters,             \
                                               uint16_t blocks TLC_AT) {                           \
    const int at[] = {EMU_LIST names};                                                             \
    ::emu::tma_load(shared_address(to), map, shared_address(barrier),                              \
                    {rank, at, nullptr, blocks} TLC_HERE);                                         \
  }                                                                                                \
  TLC_DEVICE void tma_load_##rank##d_multicast(void *to, const CUtensorMap *map,                   \
                                               uint64_t *barrier, EMU_LIST parameters,             \
                                               uint16_t blocks, cache_hint TLC_AT) {               \
    tma_load_##rank##d_multicast(to, map, barrier, EMU_LIST names, blocks TLC_HERE);               \
  }                                                                                                \
  TLC_DEVICE void tma_store_##rank##d(const CUtensorMap *map, const void *from,                    \
                                      EMU_LIST parameters TLC_AT) {                                \
    const int at[] = {EMU_LIST names};                                                             \
    ::emu::tma_store(map, own_address(from TLC_HERE), {rank, at},                                  \
                     ::emu::Reduction::none TLC_HERE);                                             \
  }                                                                                                \
  TLC_DEVICE void tma_store_##rank##d(const CUtensorMap *map, const void *from,                    \
                                      EMU_LIST parameters, cache_hint TLC_AT) {                    \
    tma_store_##rank##d(map, from, EMU_LIST names TLC_HERE);                                       \
  }                                                                                                \
  TLC_DEVICE void tma_reduce_add_##rank##d(const CUtensorMap *map, const void *from,               \
                                           EMU_LIST parameters TLC_AT) {                           \
    const int at[] = {EMU_LIST names};                                                             \
    ::emu::tma_store(map, own_address(from TLC_HERE), {rank, at}, ::emu::Reduction::add TLC_HERE); \
  }                                                                                                \
  template <tma_operation Operation>                                                               \
  TLC_DEVICE void tma_reduce_##rank##d(const CUtensorMap *map, const void *from,                   \
                                       EMU_LIST parameters TLC_AT) {                               \
    const int at[] = {EMU_LIST names};                                                             \
    ::emu::tma_store(map, own_address(from TLC_HERE), {rank, at},                                  \
                     static_cast<::emu::Reduction>(Operation) TLC_HERE);                           \
  }
#define EMU_PIXELS(rank, parameters, names, moves, offsets)                                        \
  TLC_DEVICE void tma_load_im2col_##rank##d(void *to, const CUtensorMap *map, uint64_t *barrier,   \
                                            EMU_LIST parameters, EMU_LIST moves TLC_AT) {          \
    const int at[] = {EMU_LIST names}, move[] = {EMU_LIST offsets};                                \
    ::emu::tma_load(shared_address(to), map, shared_address(barrier), {rank, at, move} TLC_HERE);  \
  }                                                                                                \
  TLC_DEVICE void tma_load_im2col_##rank##d(void *to, const CUtensorMap *map, uint64_t *barrier,   \
                                            EMU_LIST parameters, EMU_LIST moves,                   \
                                            cache_hint TLC_AT) {                                   \
    tma_load_im2col_##rank##d(to, map, barrier, EMU_LIST names, EMU_LIST offsets TLC_HERE);        \
  }                                                                                                \
  TLC_DEVICE void tma_load_im2col_##rank##d_multicast(void *to, const CUtensorMap *map,            \
                                                      uint64_t *barrier, EMU_LIST parameters,      \
                                                      EMU_LIST moves, uint16_t blocks TLC_AT) {    \
    const int at[] = {EMU_LIST names}, move[] = {EMU_LIST offsets};                                \
    ::emu::tma_load(shared_address(to), map, shared_address(barrier),                              \
                    {rank, at, move, blocks} TLC_HERE);                                            \
  }                                                                                                \
  TLC_DEVICE void tma_load_im2col_##rank##d_multicast(                                             \
      void *to, const CUtensorMap *map, uint64_t *barrier, EMU_LIST parameters, EMU_LIST moves,    \
      uint16_t blocks, cache_hint TLC_AT) {                                                        \
    tma_load_im2col_##rank##d_multicast(to, map, barrier, EMU_LIST names, EMU_LIST offsets,        \
                                        blocks TLC_HERE);                                          \
  }
#define EMU_LIST(...) __VA_ARGS__
EMU_BOXES(1, (int x0), (x0))
EMU_BOXES(2, (int x0, int x1), (x0, x1))
EMU_BOXES(3, (int x0, int x1, int x2), (x0, x1, x2))
EMU_BOXES(4, (int x0, int x1, int x2, int x3), (x0, x1, x2, x3))
EMU_BOXES(5, (int x0, int x1, int x2, int x3, int x4), (x0, x1, x2, x3, x4))
EMU_PIXELS(3, (int x0, int x1, int x2), (x0, x1, x2), (int o0), (o0))
EMU_PIXELS(4, (int x0, int x1, int x2, int x3), (x0, x1, x2, x3), (int o0, int o1), (o0, o1))
EMU_PIXELS(5, (int x0, int x1, int x2, int x3, int x4), (x0, x1, x2, x3, x4),
           (int o0, int o1, int o2), (o0, o1, o2))
#undef EMU_LIST
#undef EMU_PIXELS
#undef EMU_BOXES

TLC_DEVICE void tma_store_commit() { ::emu::bulk_commit(); }
template <int Pending> TLC_DEVICE void tma_store_wait_read() { ::emu::bulk_wait(Pending, true); }
template <int Pending> TLC_DEVICE void tma_store_wait() { ::emu::bulk_wait(Pending, false); }
TLC_DEVICE void bulk_load(void *to, const void *from, int bytes, uint64_t *barrier TLC_AT) {
  ::emu::bulk_load(shared_address(to), from, uint32_t(bytes), shared_address(barrier) TLC_HERE);
}
TLC_DEVICE void bulk_store(void *to, const void *from, int bytes TLC_AT) {
  ::emu::bulk_store(to, own_address(from TLC_HERE), uint32_t(bytes) TLC_HERE);
}

} // namespace tlc
