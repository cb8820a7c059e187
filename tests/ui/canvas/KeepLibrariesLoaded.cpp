// Leak reports name their place only while the library is loaded; Mesa unloads its driver when a
// GL context ends. With this in the program no library is ever unloaded.
extern "C" __attribute__((visibility("default"))) int dlclose(void*) { return 0; }
