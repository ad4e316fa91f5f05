"""What runs say about a site, one kind of rule a module. Pure: samples in, standings out, memory as JSON between."""
