// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d48a93754075134321595c637685a25eaa46349bf6a1e83b69b142a8fb339792"
