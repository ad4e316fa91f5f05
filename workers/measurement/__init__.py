"""What happened: the nouns of a measurement and the messages that carry them. Pure: no input, no output, no clock."""
