// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "a1bdf29787eb0aeffc3d99005841d86dc5ee4e0db51edaca2737f513339e19a1"
