// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "ed644d08c469c1166f474e382e33d91bfeab2a092cc34a49edce628b75762268"
