// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "157331e8fa04ac890d0a389e1ba28450a894c5f168762b84b574df3589d13e65"
