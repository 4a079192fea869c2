// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "d525cc2963af0ce4c4b6feaa556b39872919db97fc9349aa08bb1eee29a2beab"
