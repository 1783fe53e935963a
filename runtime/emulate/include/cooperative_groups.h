// Grid barriers are the runtime's own (device/barrier.h); emitted files name nothing of this
// header.
#pragma once
