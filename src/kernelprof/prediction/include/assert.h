// assert is NVRTC's own, and always on.
#ifdef NDEBUG
#undef assert
#define assert(expression) (static_cast<void>(0))
#endif
