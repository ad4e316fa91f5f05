# Aliases: ./dev does the work and needs no make. Arguments: make test ARGS="-k name"
COMMANDS := up down status logs doctor demo screens reset test check bench firstbyte manage python

.PHONY: help $(COMMANDS)
help:
	@./dev --help
$(COMMANDS):
	@./dev $@ $(ARGS)
