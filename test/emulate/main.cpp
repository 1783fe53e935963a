// faults --list: one line a case. faults NAME: runs it; exit status 0 if the numbers are right.
#include <cuda_runtime.h>

#include "faults.h"

int main(int argc, char **argv) {
  std::vector<Case> cases;
  addPipelines(cases);
  addSparse(cases);
  addBlocks(cases);
  addGrids(cases);
  addHipProducts(cases);
  addHipWaves(cases);
  addHopperAttention(cases);
  addHopperCopies(cases);
  addHopperGemm(cases);
  addHopperMixed(cases);
  addHopperProducts(cases);
  addHopperSparse(cases);
  addHopperTensors(cases);
  addOverlaps(cases);
  addTiles(cases);
  addDevices(cases);
  addMisuse(cases);
  addHipTiles(cases);
  for (const Case &c : cases) {
    if (argc == 2 && !std::strcmp(argv[1], "--list"))
      std::printf("%s|%s|%s|%s\n", c.name, c.kinds, c.marks, c.device);
    else if (argc == 2 && !std::strcmp(argv[1], c.name))
      return c.run() ? 0 : 1;
  }
  return argc == 2 && !std::strcmp(argv[1], "--list") ? 0 : 2;
}
