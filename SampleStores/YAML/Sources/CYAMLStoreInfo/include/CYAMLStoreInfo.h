// The plug-in's description is data alone: nothing is declared here.
