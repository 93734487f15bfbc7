// A library that is no plugin at all.
extern "C" __attribute__((visibility("default"))) int something() { return 1; }
