// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d3a437c8c62c85a10ae76129ac05fbdf1ac8eac60f17f6f62a39775f7e8619ed"
