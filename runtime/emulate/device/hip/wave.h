// The functions of hip/wave.h.
namespace tlc {

TLC_DEVICE int wave_size() { return ::emu::lanes_of_warp(); }
TLC_DEVICE int wave_lane() {
  return int((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) %
             unsigned(::emu::lanes_of_warp()));
}
TLC_DEVICE void wave_sync(::emu::Site emu_site = {}) { ::emu::warp_sync(whole_wave(), emu_site); }

template <class T, class Exchange> TLC_DEVICE T shuffle_words(const T &value, Exchange exchange) {
  constexpr int count = int(sizeof(T) + 3) / 4;
  uint32_t word[count] = {};
  memcpy(word, &value, sizeof(T));
  for (int i = 0; i < count; ++i)
    word[i] = exchange(word[i]);
  T result;
  memcpy(&result, word, sizeof(T));
  return result;
}
template <class T> TLC_DEVICE T lane_permute(T value, int lane TLC_AT) {
  return shuffle_words(value,
                       [&](uint32_t word) { return ::emu::wave_permute(word, lane TLC_HERE); });
}
template <class T> TLC_DEVICE T shfl(T value, int lane, int width = TLC_WAVE TLC_AT) {
  return lane_permute(value, wave_lane() / width * width + lane % width TLC_HERE);
}
template <class T> TLC_DEVICE T shfl_xor(T value, int bits TLC_AT) {
  return lane_permute(value, wave_lane() ^ bits TLC_HERE);
}
template <class T> TLC_DEVICE T shfl_up(T value, int delta, int width = TLC_WAVE TLC_AT) {
  const int lane = wave_lane();
  return lane_permute(value, lane % width >= delta ? lane - delta : lane TLC_HERE);
}
template <class T> TLC_DEVICE T shfl_down(T value, int delta, int width = TLC_WAVE TLC_AT) {
  const int lane = wave_lane();
  return lane_permute(value, lane % width + delta < width ? lane + delta : lane TLC_HERE);
}
template <int Control, int Rows = 15, int Banks = 15, class T>
TLC_DEVICE T dpp(T old, T value TLC_AT) {
  static_assert(sizeof(T) == 4, "dpp moves 32-bit values");
  return bit_cast<T>(::emu::wave_move(bit_cast<uint32_t>(old), bit_cast<uint32_t>(value), Control,
                                      Rows, Banks TLC_HERE));
}
template <class T> TLC_DEVICE T read_lane(T value, int lane TLC_AT) {
  return shuffle_words(value, [&](uint32_t word) { return ::emu::wave_read(word, lane TLC_HERE); });
}
template <class T> TLC_DEVICE T read_first_lane(T value TLC_AT) {
  return shuffle_words(value, [&](uint32_t word) { return ::emu::wave_read(word, -1 TLC_HERE); });
}
TLC_DEVICE uint64_t ballot(bool value TLC_AT) {
  return ::emu::ballot(whole_wave(), value TLC_HERE);
}
TLC_DEVICE bool any(bool value TLC_AT) { return ::emu::ballot(whole_wave(), value TLC_HERE) != 0; }
TLC_DEVICE bool all(bool value TLC_AT) { return ::emu::ballot(whole_wave(), !value TLC_HERE) == 0; }

} // namespace tlc
