// A plugin of another build: its interface is not this one's, and nothing of it must be called.
extern "C" __attribute__((visibility("default"))) int twb_cuda_interface() { return 999; }
extern "C" __attribute__((visibility("default"))) void twb_cuda_open(void*) { __builtin_trap(); }
