// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "ac543a8f916e2bbe99c7d45db3fe8de9ef72aef0f7455c7a89e2b2487fc21d4a"
