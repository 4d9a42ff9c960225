// The shared libraries consist of whole archives, but CMake needs at least one source for each.
