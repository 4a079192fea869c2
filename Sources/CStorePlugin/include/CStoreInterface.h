// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "b50fef6080aa9ae518c47798461a166384a1935207963d6fd06c08ce7b0e77db"
