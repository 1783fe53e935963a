// In what order blocks take tiles where the program does not say.
#pragma once

#include "ir/Function.h"
#include "passes/Pass.h"
#include "passes/Schedule.h"

namespace tlc::passes {

/// Chooses panels for the tiles of a product, whose loops load one tile for each row of the grid
/// and one for each column. Everything else of the launch is planned.
void planRaster(ir::Function &function, ir::Launch &launch, PassContext &pass, LaunchPlan &plan);

} // namespace tlc::passes
