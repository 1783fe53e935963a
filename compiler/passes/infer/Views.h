// Views of shared tiles (T.view, T.reshape): where their elements lie once the storage has a
// memory.
#pragma once

#include "ir/Buffer.h"
#include "layout/Layout.h"

#include <optional>

namespace tlc::passes {

/// Coordinates of the view -> coordinates of the buffer under it, of elements of one width. None if
/// the shapes are not constant or cut each other in a way that digits cannot say.
std::optional<Layout> throughView(const ir::Buffer &view);

/// The memory of a view, coordinates -> offset in its own elements, for a storage with the memory
/// `memory`. None as above, or if that tears elements of the view apart.
std::optional<Layout> viewMemory(const ir::Buffer &view, const Layout &memory);

/// The buffer whose elements are counted by a view's memory: the storage where dtypes agree.
ir::Buffer &countedIn(ir::Buffer &buffer);

} // namespace tlc::passes
