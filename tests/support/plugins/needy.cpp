// A plugin that needs a library which the tests' search path does not lead to.
extern "C" int twb_test_gone();
extern "C" __attribute__((visibility("default"))) int twb_cuda_interface() { return twb_test_gone(); }
