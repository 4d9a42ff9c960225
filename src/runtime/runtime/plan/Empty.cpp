// The shared libraries are made of whole archives; CMake wants a source of their own.
