// A plugin of another build. Only the function that returns its hash may be called.
extern "C" __attribute__((visibility("default"))) const char* twb_cuda_build() { return "0123456789abcdef"; }
extern "C" __attribute__((visibility("default"))) void twb_cuda_open(void*) { __builtin_trap(); }
