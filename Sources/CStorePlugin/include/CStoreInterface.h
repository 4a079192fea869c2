// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "e1492fdeaa89f18de053679f4481b4f254694431364d7042d68bd67353821851"
