// Nobody includes this one.
#define UNRELATED 1
