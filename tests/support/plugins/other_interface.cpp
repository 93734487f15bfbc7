// A plugin with another interface version; none of its functions may be called.
extern "C" __attribute__((visibility("default"))) int twb_cuda_interface() { return 999; }
extern "C" __attribute__((visibility("default"))) void twb_cuda_open(void*) { __builtin_trap(); }
