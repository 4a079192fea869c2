// Written by Scripts/interface-digest --write.
#define ASP_INTERFACE "5d01b3af4a3800863dc277ef7becc803c32d17769987ad8316b5eb8a4ac72007"
